#!/bin/bash
set -uxo pipefail
cd "${TESTBED:-/testbed}"
git status
git show --stat
git -c core.fileMode=false diff 3bb41a9161ee3c64c9d0b83d28f7b054115f5c89
git checkout 3bb41a9161ee3c64c9d0b83d28f7b054115f5c89 tests/test_lists.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_lists.py b/tests/test_lists.py
index 4c8853f..f50cdf2 100644
--- a/tests/test_lists.py
+++ b/tests/test_lists.py
@@ -12,3 +12,11 @@ def test_one():
 
 def test_languages():
     assert [conjunction(name) for name in ("en", "de", "xx")] == ["and", "und", "and"]
+
+
+def test_spanish():
+    assert join_words(["a", "b"], language="es") == "a y b"
+
+
+def test_german():
+    assert join_words(["a", "b", "c"], language="de") == "a, b und c"
EOF_114329324912
: '>>>>> Start Test Output'
python3 -m pytest -rA -p no:cacheprovider tests/test_lists.py
SWEBENCH_TEST_EXIT_CODE=$?
: '>>>>> End Test Output'
echo ">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE"
git checkout 3bb41a9161ee3c64c9d0b83d28f7b054115f5c89 tests/test_lists.py
