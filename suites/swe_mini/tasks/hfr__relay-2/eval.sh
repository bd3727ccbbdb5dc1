#!/bin/bash
set -uxo pipefail
cd "${TESTBED:-/testbed}"
git status
git show --stat
git -c core.fileMode=false diff ee4dfe4e0719199ea3e2c5b836edcbd1abdd74d9
git checkout ee4dfe4e0719199ea3e2c5b836edcbd1abdd74d9 tests/test_limits.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_limits.py b/tests/test_limits.py
index 10c0e09..145283b 100644
--- a/tests/test_limits.py
+++ b/tests/test_limits.py
@@ -11,3 +11,8 @@ def test_room():
 def test_no_room():
     with pytest.raises(OverflowError):
         check_room(LIMIT + 1)
+
+
+def test_a_full_queue():
+    with pytest.raises(OverflowError):
+        check_room(LIMIT)
EOF_114329324912
: '>>>>> Start Test Output'
python3 -m pytest -rA -p no:cacheprovider tests/test_limits.py
SWEBENCH_TEST_EXIT_CODE=$?
: '>>>>> End Test Output'
echo ">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE"
git checkout ee4dfe4e0719199ea3e2c5b836edcbd1abdd74d9 tests/test_limits.py
