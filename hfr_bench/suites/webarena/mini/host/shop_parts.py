"""What the shop does besides selling: accounts, its letter box, and the API that graders ask."""

import json

from .errors import SiteError
from .pages import (
    Request,
    Response,
    area,
    button,
    entry,
    flash,
    form,
    link,
    listing,
    money,
    page,
    redirect,
    text,
)
from .store import Row

ADDRESS = (("Street Address", "street"), ("City", "city"), ("Zip/Postal Code", "postcode"),
           ("Phone Number", "phone"))  # fmt: skip
LOGIN, SIGN_IN = "/customer/account/login", "Sign In"


def nav(request: Request) -> list[str]:
    """Links of every page."""
    own = (
        [link("/customer/account/", "My Account"), link("/sales/order/history/", "My Orders"),
         link("/wishlist/", "My Wish List")]
        if request.user else [link(LOGIN, SIGN_IN)]
    )  # fmt: skip
    names = request.store.rows("SELECT DISTINCT category FROM shop_products ORDER BY category")
    find = form("/catalogsearch/result/", entry("Search", "q"), button("Search"), method="get")
    return [
        link("/", "Lantern Lane"),
        *(link(f"/{row['category']}.html", row["category"].capitalize()) for row in names),
        *own,
        link("/checkout/cart/", "My Cart"),
        link("/contact/", "Contact Us"),
        find,
    ]


def account(request: Request) -> Response:
    """GET /customer/account/."""
    who = customer(request)
    lines = [
        who["name"],
        who["email"],
        who["street"],
        f"{who['city']} {who['postcode']}",
        who["phone"],
    ]
    mine = "SELECT * FROM shop_reviews WHERE customer = ? ORDER BY id"
    wrote = request.store.rows(mine, request.user)
    return page(
        request, "My Account", nav(request), *(text(line) for line in lines),
        link("/customer/address/edit/", "Edit Address"),
        listing(f"Review {r['id']} of {r['sku']}: {text(r['title'], 'span')} ({r['status']})"
                for r in wrote),
    )  # fmt: skip


def edit_address(request: Request) -> Response:
    """GET /customer/address/edit/."""
    who = customer(request)
    return page(
        request, "Edit Address", nav(request),
        form("/customer/address/formPost/",
             *(entry(label, name, who[name]) for label, name in ADDRESS), button("Save Address")),
    )  # fmt: skip


def save_address(request: Request) -> Response:
    """POST /customer/address/formPost/."""
    values = [request.asked(name) for _, name in ADDRESS]
    if not all(values):
        raise SiteError(422, "All of the address is required.")
    sql = "UPDATE shop_customers SET street = ?, city = ?, postcode = ?, phone = ? WHERE email = ?"
    request.store.run(sql, *values, request.user)
    flash(request, "You saved the address.")
    return redirect("/customer/account/")


def contact(request: Request) -> Response:
    """GET /contact/."""
    return page(
        request, "Contact Us", nav(request),
        form("/contact/index/post/", entry("Name", "name"), entry("Email", "email"),
             area("What's on your mind?", "comment"), button("Submit")),
    )  # fmt: skip


def products(rows: list[Row]) -> str:
    """Links to them, with prices."""
    return listing(
        f"{link('/' + r['slug'] + '.html', r['name'])} {text(money(r['price_cents']), 'span')}"
        for r in rows
    )


def customer(request: Request) -> Row:
    """Who is signed in."""
    found = request.store.row("SELECT * FROM shop_customers WHERE email = ?", request.user)
    assert found is not None
    return found


def subscribe(request: Request) -> Response:
    """POST /newsletter/subscriber/new/. A repeat changes nothing."""
    email = request.asked("email")
    if "@" not in email:
        raise SiteError(422, "Please enter a valid email address.")
    if request.store.row("SELECT 1 FROM shop_subscribers WHERE email = ?", email) is None:
        request.store.add("shop_subscribers", email=email, source="newsletter")
    flash(request, "Thank you for your subscription.")
    return redirect("/")


def send_message(request: Request) -> Response:
    """POST /contact/index/post/."""
    values = {name: request.asked(name) for name in ("name", "email", "comment")}
    if not all(values.values()):
        raise SiteError(422, "All fields are required.")
    request.store.add("shop_messages", **values)
    flash(request, "Thanks for contacting us with your comments and questions.")
    return redirect("/contact/")


def rest_token(_request: Request) -> Response:
    """For graders: WebArena's helpers ask for one before they ask for orders."""
    return Response(200, json.dumps("grader"), kind="application/json")


def rest_orders(request: Request) -> Response:
    """For graders: all orders, the newest first."""
    rows = request.store.rows("SELECT * FROM shop_orders ORDER BY id DESC")
    items = [{"entity_id": r["id"], "increment_id": f"{r['id']:09d}", "status": r["status"],
              "created_at": r["date"], "customer_email": r["customer"]} for r in rows]  # fmt: skip
    return Response(200, json.dumps({"items": items}), kind="application/json")
