#!/bin/bash
set -uxo pipefail
cd "${TESTBED:-/testbed}"
git status
git show --stat
git -c core.fileMode=false diff 3ac7e4956a462add6ca824ac1f792cba25bd1388
git checkout 3ac7e4956a462add6ca824ac1f792cba25bd1388 tests/test_extensions.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_extensions.py b/tests/test_extensions.py
index 0625112..85b28af 100644
--- a/tests/test_extensions.py
+++ b/tests/test_extensions.py
@@ -12,3 +12,7 @@ def test_twice(tmp_path):
     file.write_text("waymark.ext.slash\nwaymark.ext.slash\n")
     with pytest.raises(ValueError):
         load_extensions(file)
+
+
+def test_all_that_are_listed():
+    assert load_extensions() == ["json body", "trailing slash"]
EOF_114329324912
: '>>>>> Start Test Output'
python3 -m pytest -rA -p no:cacheprovider tests/test_extensions.py
SWEBENCH_TEST_EXIT_CODE=$?
: '>>>>> End Test Output'
echo ">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE"
git checkout 3ac7e4956a462add6ca824ac1f792cba25bd1388 tests/test_extensions.py
