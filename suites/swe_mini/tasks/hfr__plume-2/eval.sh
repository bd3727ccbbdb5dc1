#!/bin/bash
set -uxo pipefail
cd "${TESTBED:-/testbed}"
git status
git show --stat
git -c core.fileMode=false diff 3bb41a9161ee3c64c9d0b83d28f7b054115f5c89
git checkout 3bb41a9161ee3c64c9d0b83d28f7b054115f5c89 tests/test_quotes.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_quotes.py b/tests/test_quotes.py
index 6305d72..cb69e60 100644
--- a/tests/test_quotes.py
+++ b/tests/test_quotes.py
@@ -18,3 +18,12 @@ def test_unknown_style():
 
 def test_unquote():
     assert quotes.unquote('"a"') == "a"
+
+
+def test_old_quote_is_gone():
+    assert not hasattr(quotes, "old_quote")
+
+
+def test_there_are_two_styles():
+    assert quotes.STYLES == ["plain", "curly"]
+    assert quotes.quote("b") == '"b"'
EOF_114329324912
: '>>>>> Start Test Output'
python3 -m pytest -rA -p no:cacheprovider tests/test_quotes.py
SWEBENCH_TEST_EXIT_CODE=$?
: '>>>>> End Test Output'
echo ">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE"
git checkout 3bb41a9161ee3c64c9d0b83d28f7b054115f5c89 tests/test_quotes.py
