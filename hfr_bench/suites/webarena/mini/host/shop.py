"""The shop: products, reviews, cart, orders, wish list. Addresses and fields as Magento has them.

Where Magento's pages send JSON by a script, the same address takes a form here.
"""

from collections.abc import Callable

from . import shop_parts
from .errors import SiteError
from .pages import (
    TODAY,
    Request,
    Response,
    area,
    button,
    choice,
    entry,
    flash,
    form,
    hidden,
    link,
    listing,
    money,
    number,
    page,
    redirect,
    table,
    text,
)
from .shop_parts import LOGIN, SIGN_IN, customer, nav, products
from .store import Row

HOME = "/customer/account/"
NAME, PASSWORD = ("Email", "login[username]"), ("Password", "login[password]")
ACCOUNT = "SELECT 1 FROM shop_customers WHERE email = ? AND password = ?"
PAY = "/rest/default/V1/carts/mine/payment-information"
_LINES = ("SELECT c.id, c.sku, c.qty, p.name, p.slug, p.price_cents, p.stock FROM shop_cart c "
          "JOIN shop_products p ON p.sku = c.sku WHERE c.customer = ? ORDER BY c.id")  # fmt: skip


def front(request: Request) -> Response:
    """GET /."""
    rows = request.store.rows("SELECT * FROM shop_products ORDER BY id")
    letter = form("/newsletter/subscriber/new/", entry("Sign Up for Our Newsletter", "email"),
                  button("Sign Up"))  # fmt: skip
    return page(request, "Lantern Lane", nav(request), products(rows), letter)


def search(request: Request) -> Response:
    """GET /catalogsearch/result/."""
    words = request.query.get("q", "")
    like = f"%{words}%"
    sql = "SELECT * FROM shop_products WHERE name LIKE ? OR description LIKE ? ORDER BY id"
    rows = request.store.rows(sql, like, like)
    shown = products(rows) if rows else text("Your search returned no results.")
    return page(request, f"Search results for: '{words}'", nav(request), shown)


def product(request: Request) -> Response:
    """A product by its slug, or a category by its name."""
    name = request.parts["slug"]
    found = request.store.row("SELECT * FROM shop_products WHERE slug = ?", name)
    if found is None:
        rows = request.store.rows(
            "SELECT * FROM shop_products WHERE category = ? ORDER BY id", name
        )
        if not rows:
            raise SiteError(404, "Whoops, our bad: there is no such page.")
        return page(request, name.capitalize(), nav(request), products(rows))
    sql = "SELECT * FROM shop_reviews WHERE sku = ? AND status = 'Approved' ORDER BY id"
    reviews = request.store.rows(sql, found["sku"])
    stars = [(str(n), f"{n} stars") for n in range(1, 6)]
    return page(
        request, found["name"], nav(request), text(money(found["price_cents"]), "span", "price"),
        text("SKU: " + found["sku"]), text("In stock" if found["stock"] else "Out of stock"),
        text(found["description"], "div", "description"),
        form(f"/checkout/cart/add/product/{found['id']}/", entry("Qty", "qty", 1),
             button("Add to Cart")),
        form(f"/wishlist/index/add/product/{found['id']}/", button("Add to Wish List")),
        listing((f"{text(r['title'], 'strong')} {text(str(r['rating']) + ' stars', 'span')} "
                 f"{text(r['detail'], 'div')} {text('Review by ' + r['nickname'], 'span')}"
                 for r in reviews), "review-items"),
        form(f"/review/product/post/id/{found['id']}/", entry("Nickname", "nickname"),
             choice("Rating", "ratings", stars, "5"), entry("Summary", "title"),
             area("Review", "detail"), button("Submit Review")),
    )  # fmt: skip


def add_to_cart(request: Request) -> Response:
    """The page stays the product's: a repeat adds once more."""
    row, qty = _product(request), number(request.asked("qty") or "1", 1, 99)
    if qty is None:
        raise SiteError(422, "Please enter a quantity from 1 to 99.")
    here = "SELECT * FROM shop_cart WHERE customer = ? AND sku = ?"
    line = request.store.row(here, request.user, row["sku"])
    total = qty + (line["qty"] if line else 0)
    if total > row["stock"]:
        raise SiteError(409, "The requested qty is not available.")
    if line is None:
        request.store.add("shop_cart", customer=request.user, sku=row["sku"], qty=qty)
    else:
        request.store.run("UPDATE shop_cart SET qty = ? WHERE id = ?", total, line["id"])
    flash(request, f"You added {row['name']} to your shopping cart.")
    return redirect(f"/{row['slug']}.html")


def cart(request: Request) -> Response:
    """GET /checkout/cart/."""
    lines = request.store.rows(_LINES, request.user)
    if not lines:
        shown = [text("You have no items in your shopping cart.")]
    else:
        shown = [_lines(lines)]
        for line in lines:
            shown.append(form(
                "/checkout/cart/updatePost/", hidden("sku", line["sku"]),
                entry(f"Qty of {line['name']}", "qty", line["qty"]),
                button(f"Update {line['name']}"),
            ))  # fmt: skip
            shown.append(form("/checkout/cart/delete/", hidden("sku", line["sku"]),
                              button(f"Remove {line['name']}")))  # fmt: skip
        shown.append(link("/checkout/", "Proceed to Checkout"))
    return page(request, "Shopping Cart", nav(request), *shown)


def update_cart(request: Request) -> Response:
    """POST /checkout/cart/updatePost/."""
    qty, sku = number(request.asked("qty"), 1, 99), request.asked("sku")
    here = "SELECT p.stock FROM shop_cart c JOIN shop_products p ON p.sku = c.sku "
    line = request.store.row(here + "WHERE c.customer = ? AND c.sku = ?", request.user, sku)
    if qty is None or line is None:
        raise SiteError(422, "Please enter a quantity from 1 to 99.")
    if qty > line["stock"]:
        raise SiteError(409, "The requested qty is not available.")
    sql = "UPDATE shop_cart SET qty = ? WHERE customer = ? AND sku = ?"
    request.store.run(sql, qty, request.user, sku)
    return redirect("/checkout/cart/")


def remove_from_cart(request: Request) -> Response:
    """POST /checkout/cart/delete/."""
    sql = "DELETE FROM shop_cart WHERE customer = ? AND sku = ?"
    request.store.run(sql, request.user, request.asked("sku"))
    return redirect("/checkout/cart/")


def checkout(request: Request) -> Response:
    """GET /checkout/."""
    lines = request.store.rows(_LINES, request.user)
    if not lines:
        return redirect("/checkout/cart/")
    who = customer(request)
    items = ", ".join(f"{line['qty']} x {line['sku']}" for line in lines)
    return page(
        request, "Checkout", nav(request), _lines(lines),
        text(f"Ship to: {who['name']}, {who['street']}, {who['city']} {who['postcode']}"),
        form(PAY, hidden("items", items), button("Place Order")),
    )  # fmt: skip


def place_order(request: Request) -> Response:
    """POST /rest/default/V1/carts/mine/payment-information.

    The form says what is ordered, as the page showed it; whoever sends it again orders again.
    """
    items = _items(request.asked("items"))
    total = 0
    for qty, sku in items:
        row = request.store.row("SELECT * FROM shop_products WHERE sku = ?", sku)
        if row is None or qty > row["stock"]:
            raise SiteError(409, f"{sku}: there is not enough in stock.")
        total += qty * row["price_cents"]
        less = "UPDATE shop_products SET stock = stock - ? WHERE sku = ?"
        request.store.run(less, qty, sku)
        gone = "DELETE FROM shop_cart WHERE customer = ? AND sku = ?"
        request.store.run(gone, request.user, sku)
    made = request.store.add(
        "shop_orders", customer=request.user, status="pending", date=TODAY, total_cents=total,
        items=", ".join(f"{qty} x {sku}" for qty, sku in items),
    )  # fmt: skip
    flash(request, f"Your order number is {made:09d}.")
    return redirect("/checkout/onepage/success/")


def success(request: Request) -> Response:
    """GET /checkout/onepage/success/."""
    return page(request, "Thank you for your purchase!", nav(request),
                link("/sales/order/history/", "See your orders"))  # fmt: skip


def orders(request: Request) -> Response:
    """GET /sales/order/history/."""
    sql = "SELECT * FROM shop_orders WHERE customer = ? ORDER BY id DESC"
    rows = request.store.rows(sql, request.user)
    shown = table(
        ("Order #", "Date", "Order Total", "Status", "Items", "Action"),
        ([f"{r['id']:09d}", r["date"], money(r["total_cents"]), r["status"], r["items"],
          link(f"/sales/order/view/order_id/{r['id']}/", f"View Order {r['id']}")] for r in rows),
        "orders",
    )  # fmt: skip
    return page(request, "My Orders", nav(request), shown)


def order(request: Request) -> Response:
    """GET /sales/order/view/order_id/ID/."""
    row = _order(request)
    here = f"/sales/order/cancel/order_id/{row['id']}/"
    cancel = form(here, button("Cancel Order")) if row["status"] == "pending" else ""
    return page(
        request, f"Order # {row['id']:09d}", nav(request),
        text(row["status"], "span", "order-status"), text("Order Date: " + row["date"]),
        text(row["items"], "div", "order-items"),
        text("Grand Total " + money(row["total_cents"]), name="grand_total"),
        form(f"/sales/order/reorder/order_id/{row['id']}/", button("Reorder")), cancel,
    )  # fmt: skip


def cancel(request: Request) -> Response:
    """POST /sales/order/cancel/order_id/ID/."""
    row = _order(request)
    if row["status"] != "pending":
        raise SiteError(409, f"An order that is {row['status']} cannot be canceled.")
    request.store.run("UPDATE shop_orders SET status = 'canceled' WHERE id = ?", row["id"])
    return redirect(f"/sales/order/view/order_id/{row['id']}/")


def reorder(request: Request) -> Response:
    """All that was ordered goes into the cart once more."""
    for qty, sku in _items(_order(request)["items"]):
        here = "SELECT id FROM shop_cart WHERE customer = ? AND sku = ?"
        if (line := request.store.row(here, request.user, sku)) is None:
            request.store.add("shop_cart", customer=request.user, sku=sku, qty=qty)
        else:
            more = "UPDATE shop_cart SET qty = qty + ? WHERE id = ?"
            request.store.run(more, qty, line["id"])
    return redirect("/checkout/cart/")


def review(request: Request) -> Response:
    """POST /review/product/post/id/ID/."""
    row, title = _product(request), request.asked("title")
    rating = number(request.asked("ratings"), 1, 5)
    if not title or not request.asked("nickname") or rating is None:
        raise SiteError(422, "Nickname, rating and summary are required fields.")
    request.store.add(
        "shop_reviews", sku=row["sku"], customer=request.user, rating=rating,
        nickname=request.asked("nickname"), title=title, status="Pending",
        detail=request.asked("detail"),
    )  # fmt: skip
    flash(request, "You submitted your review for moderation.")
    return redirect(f"/{row['slug']}.html")


def wishlist(request: Request) -> Response:
    """GET /wishlist/."""
    rows = request.store.rows(
        "SELECT p.* FROM shop_wishlist w JOIN shop_products p ON p.sku = w.sku WHERE customer = ? "
        "ORDER BY w.id", request.user,
    )  # fmt: skip
    shown = products(rows) if rows else text("You have no items in your wish list.")
    return page(request, "My Wish List", nav(request), shown)


def add_to_wishlist(request: Request) -> Response:
    """POST /wishlist/index/add/product/ID/."""
    sku = _product(request)["sku"]
    here = "SELECT 1 FROM shop_wishlist WHERE customer = ? AND sku = ?"
    if request.store.row(here, request.user, sku) is None:
        request.store.add("shop_wishlist", customer=request.user, sku=sku)
    return redirect("/wishlist/")


def _lines(lines: list[Row]) -> str:
    rows = [[text(r["name"], "span"), money(r["price_cents"]), f"qty {r['qty']}"] for r in lines]
    total = money(sum(r["qty"] * r["price_cents"] for r in lines))
    return table(("Item", "Price", "Qty"), rows, "cart") + text(f"Order Total {total}")


def _items(words: str) -> list[tuple[int, str]]:
    """Of "2 x LT-01, 1 x LT-02". Raises SiteError."""
    found = []
    for item in words.split(", "):
        qty, _, sku = item.partition(" x ")
        count = number(qty, 1, 99)
        if count is None:
            raise SiteError(409, "You have no items in your shopping cart.")
        found.append((count, sku))
    return found


def _product(request: Request) -> Row:
    found = request.store.row("SELECT * FROM shop_products WHERE id = ?", int(request.parts["id"]))
    if found is None:
        raise SiteError(404, "There is no such product.")
    return found


def _order(request: Request) -> Row:
    sql = "SELECT * FROM shop_orders WHERE id = ? AND customer = ?"
    found = request.store.row(sql, int(request.parts["id"]), request.user)
    if found is None:
        raise SiteError(404, "There is no such order of yours.")
    return found


_ID = r"/(?P<id>\d{1,9})/?"
ROUTES: list[tuple[str, str, Callable[[Request], Response]]] = [
    ("GET", "/", front),
    ("GET", "/catalogsearch/result/?", search),
    ("POST", "/checkout/cart/add/product" + _ID, add_to_cart),
    ("GET", "/checkout/cart/?", cart),
    ("POST", "/checkout/cart/updatePost/", update_cart),
    ("POST", "/checkout/cart/delete/", remove_from_cart),
    ("GET", "/checkout/?", checkout),
    ("POST", PAY, place_order),
    ("GET", "/checkout/onepage/success/?", success),
    ("GET", "/sales/order/history/?", orders),
    ("GET", "/sales/order/view/order_id" + _ID, order),
    ("POST", "/sales/order/cancel/order_id" + _ID, cancel),
    ("POST", "/sales/order/reorder/order_id" + _ID, reorder),
    ("POST", "/review/product/post/id" + _ID, review),
    ("GET", "/wishlist/?", wishlist),
    ("POST", "/wishlist/index/add/product" + _ID, add_to_wishlist),
    ("GET", "/customer/account/?", shop_parts.account),
    ("GET", "/customer/address/edit/?", shop_parts.edit_address),
    ("POST", "/customer/address/formPost/", shop_parts.save_address),
    ("POST", "/newsletter/subscriber/new/", shop_parts.subscribe),
    ("GET", "/contact/?", shop_parts.contact),
    ("POST", "/contact/index/post/", shop_parts.send_message),
    ("POST", "/rest/default/V1/integration/admin/token", shop_parts.rest_token),
    ("GET", "/rest/V1/orders", shop_parts.rest_orders),
    ("GET", r"/(?P<slug>[\w-]+)\.html", product),
]
__all__ = ["ACCOUNT", "HOME", "LOGIN", "NAME", "PASSWORD", "PUBLIC", "ROUTES", "SIGN_IN", "nav"]
PUBLIC = frozenset({shop_parts.rest_token, shop_parts.rest_orders, shop_parts.subscribe})
PRIVATE = frozenset(
    {checkout, cart, orders, order, wishlist, success, shop_parts.account, shop_parts.edit_address}
)
