#!/bin/bash
set -uxo pipefail
cd "${TESTBED:-/testbed}"
git status
git show --stat
git -c core.fileMode=false diff 3bb41a9161ee3c64c9d0b83d28f7b054115f5c89
git checkout 3bb41a9161ee3c64c9d0b83d28f7b054115f5c89 tests/test_shorten.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_shorten.py b/tests/test_shorten.py
index 975b104..1d39a14 100644
--- a/tests/test_shorten.py
+++ b/tests/test_shorten.py
@@ -11,3 +11,11 @@ def test_exact_stays():
 
 def test_mark():
     assert shorten("one two three four five six").endswith("...")
+
+
+def test_the_mark_counts():
+    assert shorten("one two three", 8) == "one t..."
+
+
+def test_never_longer_than_the_width():
+    assert all(len(shorten("x" * 30, width)) == width for width in range(3, 30))
EOF_114329324912
: '>>>>> Start Test Output'
python3 -m pytest -rA -p no:cacheprovider tests/test_shorten.py
SWEBENCH_TEST_EXIT_CODE=$?
: '>>>>> End Test Output'
echo ">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE"
git checkout 3bb41a9161ee3c64c9d0b83d28f7b054115f5c89 tests/test_shorten.py
