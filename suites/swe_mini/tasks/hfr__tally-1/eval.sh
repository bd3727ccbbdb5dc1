#!/bin/bash
set -uxo pipefail
cd "${TESTBED:-/testbed}"
git status
git show --stat
git -c core.fileMode=false diff 426066adaad86a15aa2346e6afdb320340113fe5
git checkout 426066adaad86a15aa2346e6afdb320340113fe5 tests/test_money.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_money.py b/tests/test_money.py
index a26e052..f1eeac8 100644
--- a/tests/test_money.py
+++ b/tests/test_money.py
@@ -15,3 +15,8 @@ def test_split_adds_up():
 def test_split_needs_a_part():
     with pytest.raises(ValueError):
         split_evenly(1, 0)
+
+
+@pytest.mark.parametrize("text,cents", [("0.005", 1), ("12.345", 1235), ("12.344", 1234)])
+def test_half_a_cent_counts_as_one(text, cents):
+    assert parse_amount(text) == cents
EOF_114329324912
: '>>>>> Start Test Output'
python3 -m pytest -rA -p no:cacheprovider tests/test_money.py
SWEBENCH_TEST_EXIT_CODE=$?
: '>>>>> End Test Output'
echo ">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE"
git checkout 426066adaad86a15aa2346e6afdb320340113fe5 tests/test_money.py
