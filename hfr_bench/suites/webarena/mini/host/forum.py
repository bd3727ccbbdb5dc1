"""The forum: submissions, comments, votes, subscriptions. Addresses and fields as in Postmill."""

from collections.abc import Callable

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
    link,
    listing,
    page,
    redirect,
    slug,
    text,
)
from .store import Row

LOGIN, HOME, SIGN_IN = "/login", "/", "Log in"
NAME, PASSWORD = ("Username", "_username"), ("Password", "_password")
ACCOUNT = "SELECT 1 FROM forum_users WHERE name = ? AND password = ?"
_LISTED = (
    "SELECT s.*, (SELECT COALESCE(SUM(choice), 0) FROM forum_votes WHERE submission = s.id) "
    "AS score FROM forum_submissions s"
)


def nav(request: Request) -> list[str]:
    """Links of every page."""
    who = request.user
    own = (
        [link(f"/user/{who}", who), link("/submit", "Submit"),
         link(f"/user/{who}/submissions", "My submissions"),
         link(f"/user/{who}/comments", "My comments")]
        if who else [link(LOGIN, SIGN_IN)]
    )  # fmt: skip
    find = form("/search", entry("Search query", "q"), button("Search"), method="get")
    return [link("/", "Postbox"), link("/forums", "Forums"), *own, find]


def front(request: Request) -> Response:
    """GET /."""
    rows = request.store.rows(f"{_LISTED} ORDER BY id DESC")
    return page(request, "Postbox", nav(request), _submissions(rows[:25]))


def forums(request: Request) -> Response:
    """GET /forums."""
    rows = request.store.rows("SELECT * FROM forum_forums ORDER BY name")
    shown = listing(
        f"{link('/f/' + r['name'], r['name'])} {text(r['title'], 'span')}" for r in rows
    )
    return page(request, "List of forums", nav(request), shown)


def one_forum(request: Request) -> Response:
    """GET /f/FORUM."""
    found = _forum(request, request.parts["forum"])
    name = found["name"]
    order = "score DESC, id" if request.query.get("sort") == "top" else "id DESC"
    rows = request.store.rows(f"{_LISTED} WHERE forum = ? ORDER BY {order}", name)
    mine = request.store.row(
        "SELECT 1 FROM forum_subscriptions WHERE forum = ? AND user = ?", name, request.user
    )
    act = "unsubscribe" if mine else "subscribe"
    return page(
        request, found["title"], nav(request), text(found["description"]),
        form(f"/f/{name}/{act}", button(act.capitalize())),
        link(f"/submit/{name}", f"Submit to {name}"), link(f"/f/{name}?sort=top", "Top"),
        _submissions(rows),
    )  # fmt: skip


def submission(request: Request) -> Response:
    """GET /f/FORUM/ID[/TITLE]."""
    row = _submission(request)
    where, number = _address(row), row["id"]
    comments = request.store.rows("SELECT * FROM forum_comments WHERE submission = ?", number)
    own = row["author"] == request.user
    delete = form(f"/f/{row['forum']}/{number}/-/delete", button("Delete submission"))
    return page(
        request, row["title"], nav(request),
        f"<p>Submitted by {link('/user/' + row['author'], row['author'])} on {row['date']} in "
        f"{link('/f/' + row['forum'], row['forum'])}</p>",
        text(row["body"], "div", "submission__body"),
        text(f"Score: {_score(request, number)}", name="score"),
        form(f"/sv/{number}", button("Upvote", "choice", "1"), button("Downvote", "choice", "-1")),
        delete if own else "",
        form(f"/f/{row['forum']}/{number}/-/comment",
             area("Comment", f"reply_to_submission_{number}[comment]"), button("Post comment")),
        listing((f"{text(c['author'], 'strong')} {text(c['body'], 'div', 'comment__body')}"
                 for c in comments), "comments"),
        link(where, "Permalink"),
    )  # fmt: skip


def compose(request: Request) -> Response:
    """GET /submit[/FORUM]."""
    chosen = request.parts.get("forum", "")
    rows = request.store.rows("SELECT name FROM forum_forums ORDER BY name")
    names = [(row["name"], row["name"]) for row in rows]
    return page(
        request, "Create submission", nav(request),
        form(request.path, entry("Title", "submission[title]"), area("Body", "submission[body]"),
             choice("Forum", "submission[forum]", names, chosen), button("Create submission")),
    )  # fmt: skip


def submit(request: Request) -> Response:
    """POST /submit[/FORUM]."""
    forum = request.asked("submission[forum]") or request.parts.get("forum", "")
    title = request.asked("submission[title]")
    if not title:
        raise SiteError(422, "The title must not be empty.")
    row = {"forum": _forum(request, forum)["name"], "author": request.user, "title": title,
           "body": request.asked("submission[body]"), "date": TODAY}  # fmt: skip
    number = request.store.add("forum_submissions", **row)
    flash(request, "Your submission was created.")
    return redirect(_address(row | {"id": number}))


def comment(request: Request) -> Response:
    """POST /f/FORUM/ID/-/comment."""
    row = _submission(request)
    body = request.asked(f"reply_to_submission_{row['id']}[comment]")
    if not body:
        raise SiteError(422, "The comment must not be empty.")
    values = {"submission": row["id"], "author": request.user, "body": body, "date": TODAY}
    request.store.add("forum_comments", **values)
    flash(request, "Your comment was posted.")
    return redirect(_address(row))


def vote(request: Request) -> Response:
    """A repeat leaves the same vote."""
    number, wanted = int(request.parts["id"]), request.asked("choice")
    row = request.store.row("SELECT * FROM forum_submissions WHERE id = ?", number)
    if row is None or wanted not in ("1", "0", "-1"):
        raise SiteError(404, "There is nothing to vote on.")
    mine = "DELETE FROM forum_votes WHERE submission = ? AND user = ? AND choice <> ?"
    request.store.run(mine, number, request.user, int(wanted))
    here = "SELECT 1 FROM forum_votes WHERE submission = ? AND user = ?"
    if int(wanted) and request.store.row(here, number, request.user) is None:
        request.store.add("forum_votes", submission=number, user=request.user, choice=int(wanted))
    return redirect(_address(row))


def subscribe(request: Request) -> Response:
    """POST /f/FORUM/subscribe."""
    name = _forum(request, request.parts["forum"])["name"]
    here = "SELECT 1 FROM forum_subscriptions WHERE forum = ? AND user = ?"
    if request.store.row(here, name, request.user) is None:
        request.store.add("forum_subscriptions", forum=name, user=request.user)
    return redirect(f"/f/{name}")


def unsubscribe(request: Request) -> Response:
    """POST /f/FORUM/unsubscribe."""
    name = _forum(request, request.parts["forum"])["name"]
    gone = "DELETE FROM forum_subscriptions WHERE forum = ? AND user = ?"
    request.store.run(gone, name, request.user)
    return redirect(f"/f/{name}")


def delete(request: Request) -> Response:
    """POST /f/FORUM/ID/-/delete."""
    row = _submission(request)
    if row["author"] != request.user:
        raise SiteError(403, "Only its author may delete a submission.")
    request.store.run("DELETE FROM forum_comments WHERE submission = ?", row["id"])
    request.store.run("DELETE FROM forum_votes WHERE submission = ?", row["id"])
    request.store.run("DELETE FROM forum_submissions WHERE id = ?", row["id"])
    flash(request, "The submission was deleted.")
    return redirect(f"/f/{row['forum']}")


def user(request: Request) -> Response:
    """GET /user/USER."""
    row = _user(request)
    own = row["name"] == request.user
    edit = link(f"/user/{row['name']}/edit_biography", "Edit biography") if own else ""
    return page(
        request, row["name"], nav(request), text(row["bio"], "div", "user-bio__biography"), edit,
        link(f"/user/{row['name']}/submissions", "Submissions"),
        link(f"/user/{row['name']}/comments", "Comments"),
    )  # fmt: skip


def submissions_of(request: Request) -> Response:
    """GET /user/USER/submissions."""
    name = _user(request)["name"]
    rows = request.store.rows(f"{_LISTED} WHERE author = ? ORDER BY id DESC", name)
    return page(request, f"Submissions by {name}", nav(request), _submissions(rows))


def comments_of(request: Request) -> Response:
    """GET /user/USER/comments."""
    name = _user(request)["name"]
    rows = request.store.rows(
        "SELECT c.*, s.title FROM forum_comments c JOIN forum_submissions s ON s.id = c.submission "
        "WHERE c.author = ? ORDER BY c.id DESC", name,
    )  # fmt: skip
    shown = listing(
        f"Comment {r['id']} on {text(r['title'], 'em')}: {text(r['body'], 'q')}" for r in rows
    )
    return page(request, f"Comments by {name}", nav(request), shown)


def edit_biography(request: Request) -> Response:
    """GET /user/USER/edit_biography."""
    row = _own(request)
    return page(
        request, "Edit biography", nav(request),
        form(request.path, area("Biography", "user_biography[biography]", row["bio"]),
             button("Save biography")),
    )  # fmt: skip


def save_biography(request: Request) -> Response:
    """POST /user/USER/edit_biography."""
    name, bio = _own(request)["name"], request.asked("user_biography[biography]")
    request.store.run("UPDATE forum_users SET bio = ? WHERE name = ?", bio, name)
    return redirect(f"/user/{name}")


def search(request: Request) -> Response:
    """GET /search."""
    words = request.query.get("q", "")
    like = f"%{words}%"
    rows = request.store.rows(
        f"{_LISTED} WHERE title LIKE ? OR body LIKE ? ORDER BY id",
        like, like,
    )  # fmt: skip
    shown = _submissions(rows) if rows else text("No results.")
    return page(request, f"Search results for {words}", nav(request), shown)


def _submissions(rows: list[Row]) -> str:
    return listing(
        f"{link(_address(r), r['title'])} {text(r['author'], 'span')} {text(r['forum'], 'span')} "
        f"{text(str(r['score']) + ' points', 'span')}"
        for r in rows
    )


def _address(row: Row) -> str:
    return f"/f/{row['forum']}/{row['id']}/{slug(row['title'])}"


def _score(request: Request, number: int) -> int:
    sql = "SELECT COALESCE(SUM(choice), 0) AS n FROM forum_votes WHERE submission = ?"
    return int(request.store.rows(sql, number)[0]["n"])


def _forum(request: Request, name: str) -> Row:
    found = request.store.row("SELECT * FROM forum_forums WHERE name = ? COLLATE NOCASE", name)
    if found is None:
        raise SiteError(404, f"There is no forum {name!r}.")
    return found


def _submission(request: Request) -> Row:
    sql = "SELECT * FROM forum_submissions WHERE id = ? AND forum = ? COLLATE NOCASE"
    found = request.store.row(sql, int(request.parts["id"]), request.parts["forum"])
    if found is None:
        raise SiteError(404, "There is no such submission.")
    return found


def _user(request: Request) -> Row:
    found = request.store.row("SELECT * FROM forum_users WHERE name = ?", request.parts["user"])
    if found is None:
        raise SiteError(404, "There is no such user.")
    return found


def _own(request: Request) -> Row:
    row = _user(request)
    if row["name"] != request.user:
        raise SiteError(403, "That is somebody else's profile.")
    return row


Route = tuple[str, str, Callable[[Request], Response]]
_AT = r"/f/(?P<forum>\w+)/(?P<id>\d{1,9})"
ROUTES: list[Route] = [
    ("GET", "/", front),
    ("GET", "/forums", forums),
    ("GET", r"/f/(?P<forum>\w+)", one_forum),
    ("POST", r"/f/(?P<forum>\w+)/subscribe", subscribe),
    ("POST", r"/f/(?P<forum>\w+)/unsubscribe", unsubscribe),
    ("POST", _AT + "/-/comment", comment),
    ("POST", _AT + "/-/delete", delete),
    ("GET", _AT + "(/[^/]*)?", submission),
    ("GET", r"/submit(/(?P<forum>\w+))?", compose),
    ("POST", r"/submit(/(?P<forum>\w+))?", submit),
    ("POST", r"/sv/(?P<id>\d{1,9})", vote),
    ("GET", r"/user/(?P<user>\w+)", user),
    ("GET", r"/user/(?P<user>\w+)/submissions", submissions_of),
    ("GET", r"/user/(?P<user>\w+)/comments", comments_of),
    ("GET", r"/user/(?P<user>\w+)/edit_biography", edit_biography),
    ("POST", r"/user/(?P<user>\w+)/edit_biography", save_biography),
    ("GET", "/search", search),
]
PUBLIC: frozenset[Callable[[Request], Response]] = frozenset()
PRIVATE = frozenset({compose, edit_biography})
"""Pages that nobody who is signed out is shown."""
