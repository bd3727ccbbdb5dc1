#!/bin/bash
set -uxo pipefail
cd "${TESTBED:-/testbed}"
git status
git show --stat
git -c core.fileMode=false diff 426066adaad86a15aa2346e6afdb320340113fe5
git checkout 426066adaad86a15aa2346e6afdb320340113fe5 tests/test_rates.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_rates.py b/tests/test_rates.py
index 657bebc..ee600a7 100644
--- a/tests/test_rates.py
+++ b/tests/test_rates.py
@@ -14,3 +14,11 @@ def test_unknown():
 
 def test_known_codes():
     assert {"EUR", "USD", "JPY"} <= set(load_rates())
+
+
+def test_francs():
+    assert to_euro(97, "CHF") == 100
+
+
+def test_order_of_the_list():
+    assert list(load_rates()) == ["EUR", "USD", "CHF", "JPY"]
EOF_114329324912
: '>>>>> Start Test Output'
python3 -m pytest -rA -p no:cacheprovider tests/test_rates.py
SWEBENCH_TEST_EXIT_CODE=$?
: '>>>>> End Test Output'
echo ">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE"
git checkout 426066adaad86a15aa2346e6afdb320340113fe5 tests/test_rates.py
