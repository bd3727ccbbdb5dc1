"""The tracker: projects, issues, notes, members, milestones. Addresses as in GitLab."""

from collections.abc import Callable

from .errors import SiteError
from .pages import (
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
    number,
    page,
    redirect,
    slug,
    text,
)
from .store import Row

LOGIN, HOME, SIGN_IN = "/users/sign_in", "/", "Sign in"
NAME, PASSWORD = ("Username or email", "user[login]"), ("Password", "user[password]")
ACCOUNT = "SELECT 1 FROM tracker_users WHERE name = ? AND password = ?"
ACCESS = (("10", "Guest"), ("20", "Reporter"), ("30", "Developer"), ("40", "Maintainer"))
_LISTED = (
    "SELECT p.*, (SELECT COUNT(*) FROM tracker_stars WHERE project = p.path) AS stars "
    "FROM tracker_projects p ORDER BY path"
)


def nav(request: Request) -> list[str]:
    """Links of every page."""
    who = request.user
    own = (
        [link(f"/dashboard/issues?assignee_username={who}", "Assigned to me"),
         link("/dashboard/issues?author_username=" + who, "Written by me"),
         link(f"/users/{who}/activity", "My activity"), link("/projects/new", "New project"),
         link("/-/profile", "Edit profile")]
        if who else [link(LOGIN, SIGN_IN)]
    )  # fmt: skip
    return [link("/", "Projects"), *own]


def projects(request: Request) -> Response:
    """GET /."""
    rows = request.store.rows(_LISTED)
    shown = listing(
        f"{link('/' + r['path'], r['path'])} {text(r['title'], 'span')} "
        f"{text(str(r['stars']) + ' stars', 'span')}" for r in rows
    )  # fmt: skip
    return page(request, "Projects", nav(request), shown)


def project(request: Request) -> Response:
    """GET /OWNER/NAME."""
    row = _project(request)
    at = "/" + row["path"]
    sql = "SELECT COUNT(*) AS n FROM tracker_stars WHERE project = ?"
    stars = request.store.rows(sql, row["path"])[0]["n"]
    members = request.store.rows("SELECT * FROM tracker_members WHERE project = ?", row["path"])
    return page(
        request, row["title"], nav(request), text(row["description"]),
        text(f"Stars: {stars}", name="star-count"), form(at + "/-/star", button("Star")),
        link(at + "/-/issues", "Issues"), link(at + "/-/milestones", "Milestones"),
        link(at + "/-/project_members", "Members"),
        text(f"{len(members)} members"),
    )  # fmt: skip


def new_project(request: Request) -> Response:
    """GET /projects/new."""
    return page(
        request, "New project", nav(request),
        form("/projects", entry("Project name", "project[name]"),
             area("Project description", "project[description]"), button("Create project")),
    )  # fmt: skip


def create_project(request: Request) -> Response:
    """POST /projects."""
    title = request.asked("project[name]")
    path = f"{request.user}/{slug(title)}"
    if not slug(title):
        raise SiteError(422, "The name must not be empty.")
    if request.store.row("SELECT 1 FROM tracker_projects WHERE path = ?", path):
        raise SiteError(409, "Project namespace path has already been taken.")
    values = {"path": path, "title": title, "description": request.asked("project[description]")}
    request.store.add("tracker_projects", **values)
    request.store.add("tracker_members", project=path, user=request.user, access="Maintainer")
    flash(request, f"Project '{title}' was successfully created.")
    return redirect(f"/{path}")


def issues(request: Request) -> Response:
    """GET /OWNER/NAME/-/issues."""
    row = _project(request)
    at = f"/{row['path']}/-/issues"
    state = request.query.get("state", "opened")
    words, assignee = request.query.get("search", ""), request.query.get("assignee_username", "")
    rows = request.store.rows(
        "SELECT * FROM tracker_issues WHERE project = ? AND (? = 'all' OR state = ?) "
        "AND title LIKE ? AND (? = '' OR assignee = ?) ORDER BY iid DESC",
        row["path"], state, state, f"%{words}%", assignee, assignee,
    )  # fmt: skip
    return page(
        request, f"Issues of {row['title']}", nav(request),
        link(at + "?state=opened", "Open"), link(at + "?state=closed", "Closed"),
        link(at + "?state=all", "All"), link(at + "/new", "New issue"),
        form(at, entry("Search issues", "search"), button("Search"), method="get"),
        _issues(rows),
    )  # fmt: skip


def issue(request: Request) -> Response:
    """GET /OWNER/NAME/-/issues/IID."""
    row = _issue(request)
    at = f"/{row['project']}"
    here = f"{at}/-/issues/{row['iid']}"
    notes = request.store.rows(
        "SELECT * FROM tracker_notes WHERE project = ? AND iid = ?", row["project"], row["iid"]
    )
    opened = row["state"] == "opened"
    switch = button("Close issue" if opened else "Reopen issue", "issue[state_event]",
                    "close" if opened else "reopen")  # fmt: skip
    return page(
        request, row["title"], nav(request),
        text(f"Issue #{row['iid']} opened by {row['author']}"),
        text("State: " + row["state"], name="state"),
        text("Assignee: " + (row["assignee"] or "None"), name="assignee"),
        text("Labels: " + (row["labels"] or "None"), name="labels"),
        text(row["description"], "div", "description"),
        form(here, switch),
        form(here, choice("Assignee", "issue[assignee]", _people(request), row["assignee"]),
             button("Save assignee")),
        form(here, entry("Labels", "issue[labels]", row["labels"]), button("Save labels")),
        listing((f"{text(n['author'], 'strong')} {text(n['body'], 'div', 'note-text')}"
                 for n in notes), "notes"),
        form(f"{at}/notes?target_type=issue&target_id={row['iid']}", area("Comment", "note[note]"),
             button("Comment")),
    )  # fmt: skip


def new_issue(request: Request) -> Response:
    """GET /OWNER/NAME/-/issues/new."""
    row = _project(request)
    return page(
        request, "New Issue", nav(request),
        form(f"/{row['path']}/-/issues", entry("Title", "issue[title]"),
             area("Description", "issue[description]"),
             choice("Assignee", "issue[assignee]", _people(request)), button("Create issue")),
    )  # fmt: skip


def create_issue(request: Request) -> Response:
    """POST /OWNER/NAME/-/issues."""
    path, title = _project(request)["path"], request.asked("issue[title]")
    if not title:
        raise SiteError(422, "The title must not be empty.")
    sql = "SELECT COALESCE(MAX(iid), 0) + 1 AS n FROM tracker_issues WHERE project = ?"
    iid = request.store.rows(sql, path)[0]["n"]
    request.store.add(
        "tracker_issues", project=path, iid=iid, title=title, author=request.user, state="opened",
        description=request.asked("issue[description]"), labels="", assignee=_assignee(request),
    )  # fmt: skip
    return redirect(f"/{path}/-/issues/{iid}")


def update_issue(request: Request) -> Response:
    """Absolute values, so that a repeat changes nothing; except what is not in the form."""
    row = _issue(request)
    states = {"close": "closed", "reopen": "opened"}
    if event := states.get(request.asked("issue[state_event]")):
        request.store.run("UPDATE tracker_issues SET state = ? WHERE id = ?", event, row["id"])
    if "issue[assignee]" in request.form:
        sql = "UPDATE tracker_issues SET assignee = ? WHERE id = ?"
        request.store.run(sql, _assignee(request), row["id"])
    if "issue[labels]" in request.form:
        sql = "UPDATE tracker_issues SET labels = ? WHERE id = ?"
        request.store.run(sql, request.asked("issue[labels]"), row["id"])
    return redirect(f"/{row['project']}/-/issues/{row['iid']}")


def add_note(request: Request) -> Response:
    """POST /OWNER/NAME/notes."""
    path, iid = _project(request)["path"], number(request.query.get("target_id", ""), 1, 10**6)
    body = request.asked("note[note]")
    sql = "SELECT 1 FROM tracker_issues WHERE project = ? AND iid = ?"
    if iid is None or request.store.row(sql, path, iid) is None:
        raise SiteError(404, "There is no such issue.")
    if not body:
        raise SiteError(422, "The comment must not be empty.")
    request.store.add("tracker_notes", project=path, iid=iid, author=request.user, body=body)
    return redirect(f"/{path}/-/issues/{iid}")


def star(request: Request) -> Response:
    """POST /OWNER/NAME/-/star."""
    path = _project(request)["path"]
    here = "SELECT 1 FROM tracker_stars WHERE project = ? AND user = ?"
    if request.store.row(here, path, request.user) is None:
        request.store.add("tracker_stars", project=path, user=request.user)
    return redirect(f"/{path}")


def members(request: Request) -> Response:
    """GET /OWNER/NAME/-/project_members."""
    row = _project(request)
    rows = request.store.rows("SELECT * FROM tracker_members WHERE project = ?", row["path"])
    return page(
        request, f"Members of {row['title']}", nav(request),
        listing(f"{text(r['user'], 'strong')} {text(r['access'], 'span')}" for r in rows),
        form(f"/{row['path']}/-/project_members",
             choice("Username", "user_ids", _people(request)),
             choice("Select a role", "access_level", ACCESS), button("Invite")),
    )  # fmt: skip


def add_member(request: Request) -> Response:
    """POST /OWNER/NAME/-/project_members."""
    path, who = _project(request)["path"], request.asked("user_ids")
    access = dict(ACCESS).get(request.asked("access_level"))
    if (
        access is None
        or request.store.row("SELECT 1 FROM tracker_users WHERE name = ?", who) is None
    ):
        raise SiteError(422, "There is no such user or role.")
    here = "SELECT 1 FROM tracker_members WHERE project = ? AND user = ?"
    if request.store.row(here, path, who):
        raise SiteError(409, "User is already a member.")
    request.store.add("tracker_members", project=path, user=who, access=access)
    return redirect(f"/{path}/-/project_members")


def milestones(request: Request) -> Response:
    """GET /OWNER/NAME/-/milestones."""
    row = _project(request)
    rows = request.store.rows("SELECT * FROM tracker_milestones WHERE project = ?", row["path"])
    return page(
        request, f"Milestones of {row['title']}", nav(request),
        listing(text(r["title"], "span") for r in rows),
        form(f"/{row['path']}/-/milestones", entry("Title", "milestone[title]"),
             button("Create milestone")),
    )  # fmt: skip


def add_milestone(request: Request) -> Response:
    """POST /OWNER/NAME/-/milestones."""
    path, title = _project(request)["path"], request.asked("milestone[title]")
    if not title:
        raise SiteError(422, "The title must not be empty.")
    here = "SELECT 1 FROM tracker_milestones WHERE project = ? AND title = ?"
    if request.store.row(here, path, title):
        raise SiteError(409, "Title is already being used for another milestone.")
    request.store.add("tracker_milestones", project=path, title=title)
    return redirect(f"/{path}/-/milestones")


def dashboard(request: Request) -> Response:
    """GET /dashboard/issues."""
    column = "author" if "author_username" in request.query else "assignee"
    who = request.query.get(f"{column}_username", request.user)
    rows = request.store.rows(
        "SELECT * FROM tracker_issues WHERE CASE ? WHEN 'author' THEN author ELSE assignee END = ? "
        "AND state = 'opened' ORDER BY id DESC", column, who,
    )  # fmt: skip
    return page(request, f"Issues ({column} {who})", nav(request), _issues(rows))


def activity(request: Request) -> Response:
    """All that a user wrote: what read-backs look at."""
    who = request.parts["user"]
    wrote = request.store.rows("SELECT * FROM tracker_issues WHERE author = ? ORDER BY id", who)
    notes = request.store.rows("SELECT * FROM tracker_notes WHERE author = ? ORDER BY id", who)
    return page(
        request, f"Activity of {who}", nav(request),
        listing(f"Opened issue {r['project']}#{r['iid']}: {text(r['title'], 'span')}"
                for r in wrote),
        listing(f"Comment {r['id']} on {r['project']}#{r['iid']}: {text(r['body'], 'q')}"
                for r in notes),
    )  # fmt: skip


def profile(request: Request) -> Response:
    """GET /-/profile."""
    row = request.store.row("SELECT * FROM tracker_users WHERE name = ?", request.user)
    status = row["status"] if row else ""
    return page(
        request, "Edit Profile", nav(request), text(f"Status: {status}", name="status"),
        form("/-/profile", entry("What's your status?", "user[status][message]", status),
             button("Update profile settings")),
    )  # fmt: skip


def save_profile(request: Request) -> Response:
    """POST /-/profile."""
    status = request.asked("user[status][message]")
    request.store.run("UPDATE tracker_users SET status = ? WHERE name = ?", status, request.user)
    return redirect("/-/profile")


def _issues(rows: list[Row]) -> str:
    return listing(
        f"{link('/' + r['project'] + '/-/issues/' + str(r['iid']), r['title'])} "
        f"{text('#' + str(r['iid']), 'span')} {text(r['state'], 'span')} "
        f"{text(r['assignee'] or 'nobody', 'span')} {text(r['labels'], 'span')}"
        for r in rows
    )


def _people(request: Request) -> list[tuple[str, str]]:
    rows = request.store.rows("SELECT name FROM tracker_users ORDER BY name")
    return [("", "Unassigned"), *((row["name"], row["name"]) for row in rows)]


def _assignee(request: Request) -> str:
    who = request.asked("issue[assignee]")
    if who and request.store.row("SELECT 1 FROM tracker_users WHERE name = ?", who) is None:
        raise SiteError(422, "There is no such user.")
    return who


def _project(request: Request) -> Row:
    path = f"{request.parts['owner']}/{request.parts['name']}"
    found = request.store.row("SELECT * FROM tracker_projects WHERE path = ?", path)
    if found is None:
        raise SiteError(404, "The page could not be found: there is no such project.")
    return found


def _issue(request: Request) -> Row:
    sql = "SELECT * FROM tracker_issues WHERE project = ? AND iid = ?"
    found = request.store.row(sql, _project(request)["path"], int(request.parts["iid"]))
    if found is None:
        raise SiteError(404, "The page could not be found: there is no such issue.")
    return found


_AT = r"/(?P<owner>[a-z]\w*)/(?P<name>[\w-]+)"
ROUTES: list[tuple[str, str, Callable[[Request], Response]]] = [
    ("GET", "/", projects),
    ("GET", "/projects/new", new_project),
    ("POST", "/projects", create_project),
    ("GET", "/dashboard/issues", dashboard),
    ("GET", r"/users/(?P<user>\w+)/activity", activity),
    ("GET", "/-/profile", profile),
    ("POST", "/-/profile", save_profile),
    ("GET", _AT, project),
    ("POST", _AT + "/-/star", star),
    ("GET", _AT + "/-/issues", issues),
    ("POST", _AT + "/-/issues", create_issue),
    ("GET", _AT + "/-/issues/new", new_issue),
    ("GET", _AT + r"/-/issues/(?P<iid>\d{1,6})", issue),
    ("POST", _AT + r"/-/issues/(?P<iid>\d{1,6})", update_issue),
    ("POST", _AT + "/notes", add_note),
    ("GET", _AT + "/-/project_members", members),
    ("POST", _AT + "/-/project_members", add_member),
    ("GET", _AT + "/-/milestones", milestones),
    ("POST", _AT + "/-/milestones", add_milestone),
]
PUBLIC: frozenset[Callable[[Request], Response]] = frozenset()
PRIVATE = frozenset({new_project, dashboard, profile})
