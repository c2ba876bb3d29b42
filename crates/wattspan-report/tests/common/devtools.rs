//! A browser without a window, asked over its DevTools pipe: messages of JSON, each with a zero byte behind it. No port is
//! opened, so that tests side by side do not meet.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

pub(crate) struct Browser {
    process: Child,
    // Taken out on drop: the browser ends when its pipe does.
    requests: Option<ChildStdin>,
    messages: Receiver<Value>,
    last: u64,
    session: String,
    events: VecDeque<Value>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts the browser with one empty page.
    pub(crate) fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        // The browser reads requests from file descriptor 3 and answers on 4; the shell puts the pipes there.
        let mut process = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#])
            .arg(wattspan_testkit::peers::chromium())
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
            ])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--remote-debugging-pipe", "--hide-scrollbars"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let requests = process.stdin.take();
        let mut answers = BufReader::new(process.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while answers.read_until(0, &mut message).is_ok_and(|length| length > 0) {
                let json = message.strip_suffix(&[0]).unwrap_or(&message);
                if serde_json::from_slice(json).is_ok_and(|json| sender.send(json).is_err()) {
                    return;
                }
                message.clear();
            }
        });
        let mut browser = Self {
            process,
            requests,
            messages,
            last: 0,
            session: String::new(),
            events: VecDeque::new(),
            _profile: profile,
        };
        let page = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let session =
            browser.call("Target.attachToTarget", &json!({ "targetId": page["targetId"], "flatten": true }));
        session["sessionId"].as_str().unwrap().clone_into(&mut browser.session);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// Calls a method of the page and waits for its result.
    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.last += 1;
        let mut request = json!({ "id": self.last, "method": method, "params": parameters });
        if !self.session.is_empty() {
            request["sessionId"] = json!(self.session);
        }
        let mut bytes = serde_json::to_vec(&request).unwrap();
        bytes.push(0);
        self.requests.as_mut().unwrap().write_all(&bytes).unwrap();
        loop {
            let message = self.receive(method);
            if message["id"] == self.last {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.events.push_back(message);
        }
    }

    /// Opens a file and waits until it is loaded.
    pub(crate) fn open(&mut self, url: &str) {
        self.events.clear();
        self.call("Page.navigate", &json!({ "url": url }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let message = self.receive("Page.loadEventFired");
            self.events.push_back(message);
        }
    }

    /// The value of an expression, which may be a promise.
    #[track_caller]
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.call("Runtime.evaluate", &parameters);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {}", result["exceptionDetails"]);
        result["result"]["value"].clone()
    }

    /// A real click in the middle of an element.
    #[track_caller]
    pub(crate) fn click(&mut self, selector: &str) {
        let place = self.value(&format!(
            "(() => {{ const e = document.querySelector({selector:?}); e.scrollIntoView({{block: 'center', behavior: 'instant'}}); \
             const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let event =
                json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", &event);
        }
    }

    /// A key that is pressed and let go.
    pub(crate) fn press(&mut self, key: &str, code: u32, text: &str) {
        let event =
            |kind: &str| json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
        let mut down = event(if text.is_empty() { "rawKeyDown" } else { "keyDown" });
        if !text.is_empty() {
            down["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", &down);
        self.call("Input.dispatchKeyEvent", &event("keyUp"));
    }

    /// The size of the screen.
    pub(crate) fn resize(&mut self, width: u32, mobile: bool) {
        let size = json!({ "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": mobile });
        self.call("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Media type (empty for the screen) and colours.
    pub(crate) fn media(&mut self, media: &str, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", &json!({ "media": media, "features": features }));
    }

    /// What went wrong since the page was opened: exceptions, messages on the console, what the policy refused.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        self.value("1");
        let methods = ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"];
        let events =
            self.events.iter().filter(|event| methods.iter().any(|method| event["method"] == *method));
        events.map(|event| event["params"].to_string()).collect()
    }

    /// Addresses that were asked for since the page was opened.
    pub(crate) fn requests(&mut self) -> Vec<String> {
        self.value("1");
        let events = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        events.filter_map(|event| event["params"]["request"]["url"].as_str().map(str::to_owned)).collect()
    }

    #[track_caller]
    fn receive(&mut self, what: &str) -> Value {
        // A browser on a busy machine takes seconds to start.
        let message = self.messages.recv_timeout(Duration::from_secs(120));
        message.unwrap_or_else(|error| panic!("{what}: no answer from the browser: {error}"))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        drop(self.requests.take());
        // Only what this test started; its children end with it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
