#!/bin/bash
set -uxo pipefail
cd "${TESTBED:-/testbed}"
git status
git show --stat
git -c core.fileMode=false diff 3ac7e4956a462add6ca824ac1f792cba25bd1388
git checkout 3ac7e4956a462add6ca824ac1f792cba25bd1388 tests/test_router.py
rm -f tests/test_redirects.py
git apply -v - <<'EOF_114329324912'
diff --git a/tests/test_redirects.py b/tests/test_redirects.py
new file mode 100644
index 0000000..7267a15
--- /dev/null
+++ b/tests/test_redirects.py
@@ -0,0 +1,16 @@
+import pytest
+
+from waymark import Redirect
+
+
+def test_for_now():
+    assert (Redirect("/new").path, Redirect("/new").status) == ("/new", 302)
+
+
+def test_for_good():
+    assert Redirect("/new", permanent=True).status == 301
+
+
+def test_no_path():
+    with pytest.raises(ValueError):
+        Redirect("new")
diff --git a/tests/test_router.py b/tests/test_router.py
index efcec9d..a503762 100644
--- a/tests/test_router.py
+++ b/tests/test_router.py
@@ -25,3 +25,11 @@ def test_hits_are_counted():
     made.match("/about")
     made.match("/users/1")
     assert made.hits == 2
+
+
+def test_a_redirect_is_a_handler():
+    from waymark import Redirect
+
+    made = Router()
+    made.add("/old", Redirect("/new"))
+    assert made.match("/old")[0].path == "/new"
EOF_114329324912
: '>>>>> Start Test Output'
python3 -m pytest -rA -p no:cacheprovider tests/test_redirects.py tests/test_router.py
SWEBENCH_TEST_EXIT_CODE=$?
: '>>>>> End Test Output'
echo ">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE"
git checkout 3ac7e4956a462add6ca824ac1f792cba25bd1388 tests/test_router.py
rm -f tests/test_redirects.py
