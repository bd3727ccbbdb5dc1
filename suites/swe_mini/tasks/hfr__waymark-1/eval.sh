#!/bin/bash
set -uxo pipefail
cd "${TESTBED:-/testbed}"
git status
git show --stat
git -c core.fileMode=false diff 3ac7e4956a462add6ca824ac1f792cba25bd1388
git checkout 3ac7e4956a462add6ca824ac1f792cba25bd1388 tests/test_router.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_router.py b/tests/test_router.py
index efcec9d..2f120f1 100644
--- a/tests/test_router.py
+++ b/tests/test_router.py
@@ -25,3 +25,12 @@ def test_hits_are_counted():
     made.match("/about")
     made.match("/users/1")
     assert made.hits == 2
+
+
+def test_misses_are_counted():
+    made = router()
+    made.match("/a/b")
+    assert (made.hits, made.misses) == (0, 1)
+    made.match("/about")
+    made.match("/c/d")
+    assert (made.hits, made.misses) == (1, 2)
EOF_114329324912
: '>>>>> Start Test Output'
python3 -m pytest -rA -p no:cacheprovider tests/test_router.py
SWEBENCH_TEST_EXIT_CODE=$?
: '>>>>> End Test Output'
echo ">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE"
git checkout 3ac7e4956a462add6ca824ac1f792cba25bd1388 tests/test_router.py
