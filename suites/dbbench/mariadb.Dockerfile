# As Dockerfile, with MariaDB of Debian beside the host, its files made once, and PyMySQL to speak with it.
FROM base
COPY site /opt/hfr/site
COPY host /opt/hfr/host
RUN ["mariadb-install-db", "--no-defaults", "--user=root", "--datadir=/opt/hfr/mariadb", \
     "--auth-root-authentication-method=normal", "--skip-test-db", "--innodb-log-file-size=4M"]
RUN ["chown", "-R", "1000:1000", "/opt/hfr/mariadb"]
ENV PYTHONPATH=/opt/hfr/site \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONHASHSEED=0 \
    HOME=/tmp \
    LANG=C.UTF-8
USER 1000:1000
WORKDIR /tmp
