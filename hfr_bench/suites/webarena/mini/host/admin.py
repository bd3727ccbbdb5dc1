"""The shop's back office: products, orders, reviews, mail. Addresses and fields as in Magento."""

from collections.abc import Callable

from .errors import SiteError
from .pages import (
    Request,
    Response,
    area,
    button,
    cents,
    choice,
    entry,
    flash,
    form,
    link,
    listing,
    money,
    number,
    page,
    redirect,
    table,
    text,
)
from .store import Row

LOGIN, HOME, SIGN_IN = "/admin/auth/login/", "/admin/", "Sign in"
NAME, PASSWORD = ("Username", "login[username]"), ("Password", "login[password]")
ACCOUNT = "SELECT 1 WHERE ? = 'admin' AND ? = 'admin1234'"
STATES = (("Approved", "Approved"), ("Pending", "Pending"), ("Not Approved", "Not Approved"))


def nav(_request: Request) -> list[str]:
    """Links of every page."""
    return [
        link("/admin/", "Dashboard"),
        link("/admin/sales/order/", "Orders"),
        link("/admin/catalog/product/", "Products"),
        link("/admin/review/product/index/", "All Reviews"),
        link("/admin/customer/index/", "All Customers"),
        link("/admin/reports/report_sales/bestsellers/", "Bestsellers"),
    ]


def dashboard(request: Request) -> Response:
    """GET /admin/."""
    store = request.store
    orders = store.rows("SELECT * FROM shop_orders ORDER BY id DESC LIMIT 5")
    total = store.rows("SELECT SUM(total_cents) AS n FROM shop_orders WHERE status <> 'canceled'")
    return page(
        request, "Dashboard", nav(request),
        text("Lifetime Sales " + money(total[0]["n"] or 0), name="lifetime"), _orders(orders),
    )  # fmt: skip


def orders(request: Request) -> Response:
    """GET /admin/sales/order/."""
    state = request.query.get("status", "")
    rows = request.store.rows(
        "SELECT * FROM shop_orders WHERE ? = '' OR status = ? ORDER BY id DESC", state, state
    )
    words = (
        ("", "Any"),
        ("pending", "Pending"),
        ("complete", "Complete"),
        ("canceled", "Canceled"),
    )
    find = form("/admin/sales/order/", choice("Status", "status", words, state),
                button("Filter"), method="get")  # fmt: skip
    return page(request, "Orders", nav(request), find, _orders(rows))


def order(request: Request) -> Response:
    """GET /admin/sales/order/view/order_id/ID/."""
    row, at = _order(request), f"/order_id/{request.parts['id']}/"
    comments = request.store.rows("SELECT * FROM shop_order_comments WHERE order_id = ?", row["id"])
    return page(
        request, f"Order # {row['id']:09d}", nav(request), text(row["status"], name="order-status"),
        text("Customer: " + row["customer"]), text(row["items"]),
        text("Grand Total " + money(row["total_cents"])),
        form("/admin/sales/order/addComment" + at, area("Comment", "history[comment]"),
             button("Submit Comment")),
        listing(f"Note {c['id']}: {text(c['comment'], 'span')}" for c in comments),
        form("/admin/sales/order/cancel" + at, button("Cancel")),
        form("/admin/sales/order/email" + at, entry("Subject", "subject"), button("Send Email")),
    )  # fmt: skip


def add_comment(request: Request) -> Response:
    """POST /admin/sales/order/addComment/order_id/ID/."""
    row, comment = _order(request), request.asked("history[comment]")
    if not comment:
        raise SiteError(422, "Please provide a comment text.")
    request.store.add("shop_order_comments", order_id=row["id"], comment=comment)
    return redirect(_view(row))


def cancel(request: Request) -> Response:
    """POST /admin/sales/order/cancel/order_id/ID/."""
    row = _order(request)
    if row["status"] != "pending":
        raise SiteError(409, f"You have not canceled the item: it is {row['status']}.")
    request.store.run("UPDATE shop_orders SET status = 'canceled' WHERE id = ?", row["id"])
    return redirect(_view(row))


def send_email(request: Request) -> Response:
    """Goes out, and no page of the shop tells that it has."""
    row, subject = _order(request), request.asked("subject")
    if not subject:
        raise SiteError(422, "Please provide a subject.")
    values = {"order_id": row["id"], "recipient": row["customer"], "subject": subject}
    request.store.add("shop_mails", **values)
    flash(request, "You sent the order email.")
    return redirect(_view(row))


def products(request: Request) -> Response:
    """GET /admin/catalog/product/."""
    rows = request.store.rows("SELECT * FROM shop_products ORDER BY id")
    shown = table(
        ("ID", "Name", "SKU", "Price", "Quantity", "Action"),
        ([str(r["id"]), text(r["name"], "span"), r["sku"], money(r["price_cents"]), str(r["stock"]),
          link(f"/admin/catalog/product/edit/id/{r['id']}/", f"Edit {r['name']}")] for r in rows),
    )  # fmt: skip
    return page(request, "Products", nav(request), shown)


def product(request: Request) -> Response:
    """GET /admin/catalog/product/edit/id/ID/."""
    row = _product(request)
    return page(
        request, row["name"], nav(request),
        form(f"/admin/catalog/product/save/id/{row['id']}/",
             entry("Product Name", "product[name]", row["name"]),
             entry("Price", "product[price]", money(row["price_cents"]).lstrip("$")),
             entry("Quantity", "product[quantity_and_stock_status][qty]", row["stock"]),
             button("Save")),
        text("SKU: " + row["sku"]),
    )  # fmt: skip


def save_product(request: Request) -> Response:
    """Absolute values: a repeat changes nothing."""
    row, name = _product(request), request.asked("product[name]")
    price = cents(request.asked("product[price]"))
    stock = number(request.asked("product[quantity_and_stock_status][qty]"), 0, 99999)
    if not name or price is None or stock is None:
        raise SiteError(422, "Please enter a name, a price and a quantity.")
    sql = "UPDATE shop_products SET name = ?, price_cents = ?, stock = ? WHERE id = ?"
    request.store.run(sql, name, price, stock, row["id"])
    flash(request, "You saved the product.")
    return redirect(f"/admin/catalog/product/edit/id/{row['id']}/")


def reviews(request: Request) -> Response:
    """GET /admin/review/product/index/."""
    rows = request.store.rows("SELECT * FROM shop_reviews ORDER BY id DESC")
    shown = table(
        ("ID", "Status", "Title", "Nickname", "Product", "Action"),
        ([str(r["id"]), r["status"], text(r["title"], "span"), text(r["nickname"], "span"),
          r["sku"], link(f"/admin/review/product/edit/id/{r['id']}/", f"Edit Review {r['id']}")]
         for r in rows),
    )  # fmt: skip
    return page(request, "Reviews", nav(request), shown)


def one_review(request: Request) -> Response:
    """GET /admin/review/product/edit/id/ID/."""
    row = _review(request)
    return page(
        request, f"Edit Review {row['id']}", nav(request), text(row["title"]), text(row["detail"]),
        text("Status: " + row["status"], name="review-status"),
        form(f"/admin/review/product/save/id/{row['id']}/",
             choice("Status", "status_id", STATES, row["status"]), button("Save Review")),
        form(f"/admin/review/product/delete/id/{row['id']}/", button("Delete Review")),
    )  # fmt: skip


def save_review(request: Request) -> Response:
    """POST /admin/review/product/save/id/ID/."""
    row, state = _review(request), request.asked("status_id")
    if state not in dict(STATES):
        raise SiteError(422, "There is no such status.")
    request.store.run("UPDATE shop_reviews SET status = ? WHERE id = ?", state, row["id"])
    return redirect(f"/admin/review/product/edit/id/{row['id']}/")


def delete_review(request: Request) -> Response:
    """POST /admin/review/product/delete/id/ID/."""
    request.store.run("DELETE FROM shop_reviews WHERE id = ?", _review(request)["id"])
    flash(request, "The review has been deleted.")
    return redirect("/admin/review/product/index/")


def customers(request: Request) -> Response:
    """GET /admin/customer/index/."""
    rows = request.store.rows("SELECT * FROM shop_customers ORDER BY email")
    shown = table(
        ("Name", "Email", "Phone", "ZIP"),
        ([text(r["name"], "span"), r["email"], r["phone"], r["postcode"]] for r in rows),
    )
    return page(request, "Customers", nav(request), shown)


def bestsellers(request: Request) -> Response:
    """GET /admin/reports/report_sales/bestsellers/."""
    sold: dict[str, int] = {}
    for row in request.store.rows("SELECT items FROM shop_orders WHERE status <> 'canceled'"):
        for item in row["items"].split(", "):
            qty, _, sku = item.partition(" x ")
            sold[sku] = sold.get(sku, 0) + int(qty)
    names = {r["sku"]: r["name"] for r in request.store.rows("SELECT sku, name FROM shop_products")}
    ranked = sorted(sold.items(), key=lambda one: (-one[1], one[0]))
    shown = table(("Product", "Order Quantity"), ([names[sku], str(qty)] for sku, qty in ranked))
    return page(request, "Bestsellers Report", nav(request), shown)


def _orders(rows: list[Row]) -> str:
    return table(
        ("ID", "Purchase Date", "Customer", "Grand Total", "Status", "Action"),
        ([f"{r['id']:09d}", r["date"], r["customer"], money(r["total_cents"]), r["status"],
          link(_view(r), f"View {r['id']}")] for r in rows),
        "orders",
    )  # fmt: skip


def _view(row: Row) -> str:
    return f"/admin/sales/order/view/order_id/{row['id']}/"


def _found(request: Request, table_name: str) -> Row:
    sql = f"SELECT * FROM {table_name} WHERE id = ?"  # noqa: S608 - our own names
    found = request.store.row(sql, int(request.parts["id"]))
    if found is None:
        raise SiteError(404, "This no longer exists.")
    return found


def _order(request: Request) -> Row:
    return _found(request, "shop_orders")


def _product(request: Request) -> Row:
    return _found(request, "shop_products")


def _review(request: Request) -> Row:
    return _found(request, "shop_reviews")


_ID = r"/(?P<id>\d{1,9})/?"
ROUTES: list[tuple[str, str, Callable[[Request], Response]]] = [
    ("GET", "/admin/?", dashboard),
    ("GET", "/", dashboard),
    ("GET", "/admin/sales/order/?", orders),
    ("GET", "/admin/sales/order/view/order_id" + _ID, order),
    ("POST", "/admin/sales/order/addComment/order_id" + _ID, add_comment),
    ("POST", "/admin/sales/order/cancel/order_id" + _ID, cancel),
    ("POST", "/admin/sales/order/email/order_id" + _ID, send_email),
    ("GET", "/admin/catalog/product/?", products),
    ("GET", "/admin/catalog/product/edit/id" + _ID, product),
    ("POST", "/admin/catalog/product/save/id" + _ID, save_product),
    ("GET", "/admin/review/product/index/?", reviews),
    ("GET", "/admin/review/product/edit/id" + _ID, one_review),
    ("POST", "/admin/review/product/save/id" + _ID, save_review),
    ("POST", "/admin/review/product/delete/id" + _ID, delete_review),
    ("GET", "/admin/customer/index/?", customers),
    ("GET", "/admin/reports/report_sales/bestsellers/?", bestsellers),
]
PUBLIC: frozenset[Callable[[Request], Response]] = frozenset()
PRIVATE = frozenset(run for method, _, run in ROUTES if method == "GET")
"""Nothing is shown to who is signed out."""
