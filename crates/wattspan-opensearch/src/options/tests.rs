use super::*;

#[track_caller]
fn check(options: Options, expected: Result<&str, &str>) {
    let endpoint = options.environment(|_| None).endpoint();
    match expected {
        Ok(place) => assert_eq!(endpoint.as_deref(), Ok(place)),
        Err(part) => {
            let message = endpoint.unwrap_err().to_string();
            assert!(message.contains(part) && !message.contains("s3cret"), "{message}");
        }
    }
}

fn password() -> Secret {
    Secret::new("s3cret", "test")
}

#[test]
fn defaults_are_smoltraces() {
    check(Options::default(), Ok("http://localhost:9200"));
    let options = Options::default();
    assert_eq!((options.prefix.as_str(), options.verify_certs, options.ssl), ("smoltrace", true, false));
}

#[test]
fn the_url_wins_over_host_port_and_ssl() {
    let options = Options::default().host("search.example").port(9243).ssl(true);
    check(options.clone(), Ok("https://search.example:9243"));
    check(options.clone().url("http://other.example"), Ok("http://other.example:80"));
    check(options.url("https://other.example/proxy/"), Ok("https://other.example:443"));
    check(Options::default().host("::1"), Ok("http://[::1]:9200"));
}

#[test]
fn credentials_in_the_clear_are_refused_unless_insisted_on() {
    let login = Options::default().user("eval").password(password());
    check(login.clone(), Ok("http://localhost:9200"));
    check(login.clone().host("127.0.0.9"), Ok("http://127.0.0.9:9200"));
    check(login.clone().host("search.example"), Err("use https"));
    check(login.clone().host("10.0.0.1"), Err("use https"));
    // A name that only looks like this machine's.
    check(login.clone().host("localhost.example"), Err("use https"));
    check(login.clone().host("search.example").ssl(true), Ok("https://search.example:9200"));
    check(login.host("search.example").allow_insecure_remote(true), Ok("http://search.example:9200"));
    // Nothing to show.
    check(Options::default().host("search.example"), Ok("http://search.example:9200"));
}

#[test]
fn credentials_in_the_url_are_refused_unless_insisted_on() {
    for url in
        ["https://eval:s3cret@search.example", "https://:s3cret@search.example", "http://eval@localhost"]
    {
        check(Options::default().url(url), Err("set OPENSEARCH_PASSWORD"));
    }
    let options =
        Options::default().url("https://ev%61l:s3cret%21@search.example/x?y#z").allow_insecure_remote(true);
    let target = options.target().unwrap();
    assert_eq!(target.base.as_str(), "https://search.example/x");
    let (user, password) = target.login.unwrap();
    assert_eq!((user.as_str(), password.expose()), ("eval", "s3cret!"));
}

#[test]
fn the_password_of_the_environment_is_for_a_user_only() {
    let lookup = |name: &str| (name == "OPENSEARCH_PASSWORD").then(|| "s3cret".to_owned());
    let login = |options: Options| options.environment(lookup).target().unwrap().login;
    assert!(login(Options::default()).is_none());
    assert_eq!(login(Options::default().user("eval")).unwrap().1.to_string(), "set by OPENSEARCH_PASSWORD");
    // One that was given wins.
    assert_eq!(login(Options::default().user("eval").password(password())).unwrap().1, password());
    check(Options::default().user("eval"), Err("set OPENSEARCH_PASSWORD"));
    check(Options::default().user("a:b").password(password()), Err("colon"));
}

#[test]
fn what_is_no_address_or_index_name_is_refused() {
    for url in ["search.example:9200", "ftp://search.example", "not a url", "https://"] {
        check(Options::default().url(url), Err("url: "));
    }
    // The text may hold a password.
    check(Options::default().url("https//eval:s3cret@search.example"), Err("it is not a URL"));
    for prefix in ["", "Upper", "-x", "_x", "a,b", "a*", "a/b", "ü", &"a".repeat(129)] {
        check(Options::default().index_prefix(prefix), Err("index-prefix"));
    }
    for prefix in ["a", "team-1.runs_x", "9"] {
        check(Options::default().index_prefix(prefix), Ok("http://localhost:9200"));
    }
}

#[test]
fn what_is_not_safe_is_said_at_each_run() {
    let remote = Options::default().url("https://search.example");
    assert_eq!(remote.warnings(), Vec::<String>::new());
    let [warning] = &remote.verify_certs(false).warnings()[..] else { panic!("one warning") };
    assert!(warning.contains("https://search.example:443 is not checked"), "{warning}");
    let plain = Options::default().url("http://search.example");
    assert!(plain.warnings()[0].starts_with("all rows go to"), "{:?}", plain.warnings());
    let plain = plain.user("eval").password(password()).allow_insecure_remote(true);
    assert!(plain.warnings()[0].starts_with("the password and all rows go to"), "{:?}", plain.warnings());
}

#[test]
fn case_security_02_no_part_of_a_password_is_shown() {
    let token = "tok-EXAMPLE-0123456789";
    let options = Options::default().user("eval").password(Secret::new(token, "OPENSEARCH_PASSWORD"));
    let in_url = options.clone().url(format!("https://eval:{token}@search.example"));
    for shown in [
        format!("{options:?}"),
        format!("{options:#?}"),
        format!("{in_url:?}"),
        Secret::new(token, "OPENSEARCH_PASSWORD").to_string(),
    ] {
        assert!(shown.contains("set by OPENSEARCH_PASSWORD"), "{shown}");
        // No run of four characters of it.
        for part in token.as_bytes().windows(4) {
            assert!(!shown.contains(std::str::from_utf8(part).unwrap()), "{shown}");
        }
    }
}
