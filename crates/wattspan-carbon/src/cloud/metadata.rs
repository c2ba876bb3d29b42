//! Asks a cloud's metadata service who this machine is: AWS (IMDSv2, ECS, EKS, Lambda), Google, Azure.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cloud::CloudFacts;
use crate::cloud::dmi::{self, Cloud};
use crate::cloud::http::{self, Answer};
use crate::place::METADATA_TIME;

/// How metadata services are asked.
#[derive(Clone, Debug)]
pub struct Metadata {
    time_limit: Duration,
    endpoints: Endpoints,
}

/// Addresses of the services: `http://` and numbers, so that no name has to be resolved.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Endpoints {
    /// Amazon's.
    pub aws: String,
    /// Google's.
    pub gcp: String,
    /// Microsoft's.
    pub azure: String,
}

/// What came of asking.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Probe {
    /// The machine; `None` when the service did not answer.
    pub facts: Option<CloudFacts>,
    /// Why parts are missing.
    pub notes: Vec<String>,
}

type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Metadata {
    /// Bounds the whole probe; one second if never called.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Asks other addresses.
    pub fn endpoints(mut self, endpoints: Endpoints) -> Self {
        self.endpoints = endpoints;
        self
    }

    /// Asks, if the firmware below `root` or the variables of a container service say that this is a cloud machine;
    /// else does nothing at all and answers `None`.
    pub fn probe(&self, root: &Path, variables: &dyn Fn(&str) -> Option<String>) -> Option<Probe> {
        let set = |name: &str| variables(name).filter(|text| !text.trim().is_empty());
        let run = Run { endpoints: &self.endpoints, deadline: Instant::now() + self.time_limit, set: &set };
        let result = if let Some(base) = set("ECS_CONTAINER_METADATA_URI_V4") {
            run.ecs(&base)
        } else if set("AWS_LAMBDA_FUNCTION_NAME").is_some() {
            run.aws_region("aws_lambda").ok_or_else(|| "AWS_REGION is not set".to_owned())
        } else {
            match dmi::cloud(root) {
                Some(Cloud::Aws) => run.aws(),
                Some(Cloud::Gcp) => run.gcp(),
                Some(Cloud::Azure) => run.azure(),
                None if set("K_SERVICE").is_some() && set("K_REVISION").is_some() => run.gcp(),
                None => return None,
            }
        };
        Some(match result {
            Ok(facts) => Probe { facts: Some(facts), notes: Vec::new() },
            Err(reason) => {
                Probe { facts: None, notes: vec![format!("the cloud's metadata is not known: {reason}")] }
            }
        })
    }
}

impl Default for Metadata {
    fn default() -> Self {
        Self { time_limit: METADATA_TIME, endpoints: Endpoints::default() }
    }
}

impl Default for Endpoints {
    /// The link-local address that all three use.
    fn default() -> Self {
        let link_local = "http://169.254.169.254".to_owned();
        Self { aws: link_local.clone(), gcp: link_local.clone(), azure: link_local }
    }
}

/// One probe under way.
struct Run<'a> {
    endpoints: &'a Endpoints,
    deadline: Instant,
    set: Lookup<'a>,
}

impl Run<'_> {
    fn get(&self, base: &str, path: &str, headers: &[(&str, &str)]) -> Result<Answer, String> {
        let answer = http::request("GET", base, path, headers, self.deadline)?;
        if answer.status == 200 { Ok(answer) } else { Err(format!("{path} answers {}", answer.status)) }
    }

    /// What the variables say, where the service cannot be reached: from a pod, its answer is dropped on the way (hop
    /// limit 1), and EKS puts the region into the pod's environment.
    fn aws_region(&self, platform: &'static str) -> Option<CloudFacts> {
        let region = (self.set)("AWS_REGION").or_else(|| (self.set)("AWS_DEFAULT_REGION"))?;
        Some(CloudFacts {
            provider: "aws",
            platform: Some(platform),
            region: Some(region),
            ..CloudFacts::default()
        })
    }

    fn aws(&self) -> Result<CloudFacts, String> {
        let eks = (self.set)("KUBERNETES_SERVICE_HOST").is_some();
        let platform = if eks { "aws_eks" } else { "aws_ec2" };
        match self.imds(platform) {
            Err(reason) => self.aws_region(platform).ok_or(reason),
            found => found,
        }
    }

    /// Version 2 only: a token first, then the identity document (Amazon EC2 user guide, "Use IMDSv2").
    fn imds(&self, platform: &'static str) -> Result<CloudFacts, String> {
        let base = &self.endpoints.aws;
        let lifetime = [("X-aws-ec2-metadata-token-ttl-seconds", "60")];
        let answer = http::request("PUT", base, "/latest/api/token", &lifetime, self.deadline)?;
        match answer.status {
            200 => {}
            403 => return Err("the instance's metadata service is turned off".to_owned()),
            status => return Err(format!("the metadata token is refused with {status}")),
        }
        let token = [("X-aws-ec2-metadata-token", answer.body.trim())];
        let document = self.get(base, "/latest/dynamic/instance-identity/document", &token)?;
        let json = json(&document.body)?;
        Ok(CloudFacts {
            provider: "aws",
            platform: Some(platform),
            region: Some(text(&json, "region").ok_or("the identity document names no region")?),
            availability_zone: text(&json, "availabilityZone"),
            instance_type: text(&json, "instanceType"),
            instance_id: text(&json, "instanceId"),
        })
    }

    /// The task's own metadata (Amazon ECS developer guide, "Task metadata endpoint version 4").
    fn ecs(&self, base: &str) -> Result<CloudFacts, String> {
        let task = self.get(base, "/task", &[]).and_then(|answer| json(&answer.body));
        let task = match task {
            Ok(task) => task,
            Err(reason) => return self.aws_region("aws_ecs").ok_or(reason),
        };
        // arn:aws:ecs:REGION:account:task/…
        let region = text(&task, "TaskARN").and_then(|arn| arn.split(':').nth(3).map(str::to_owned));
        Ok(CloudFacts {
            provider: "aws",
            platform: Some("aws_ecs"),
            region: Some(region.filter(|region| !region.is_empty()).ok_or("the task names no region")?),
            availability_zone: text(&task, "AvailabilityZone"),
            ..CloudFacts::default()
        })
    }

    /// Single values, never `recursive=true`, whose attributes hold start-up scripts and secrets (Compute Engine,
    /// "View and query VM metadata").
    fn gcp(&self) -> Result<CloudFacts, String> {
        let value = |path: &str| {
            let path = format!("/computeMetadata/v1/instance/{path}");
            let answer = self.get(&self.endpoints.gcp, &path, &[("Metadata-Flavor", "Google")])?;
            if answer.header("metadata-flavor") != Some("Google") {
                return Err("the answer is not Google's".to_owned());
            }
            // zone, region and machine-type are paths, of which the last part counts.
            Ok(answer.body.trim().rsplit('/').next().unwrap_or_default().to_owned())
        };
        let serverless = (self.set)("K_SERVICE").is_some();
        let zone = value("zone");
        let region = match &zone {
            Ok(zone) => zone.rsplit_once('-').map(|(region, _)| region.to_owned()),
            Err(_) if serverless => Some(value("region")?),
            Err(reason) => return Err(reason.clone()),
        };
        let platform = if serverless {
            "gcp_cloud_run"
        } else if (self.set)("KUBERNETES_SERVICE_HOST").is_some() {
            "gcp_kubernetes_engine"
        } else {
            "gcp_compute_engine"
        };
        Ok(CloudFacts {
            provider: "gcp",
            platform: Some(platform),
            region: Some(region.filter(|region| !region.is_empty()).ok_or("the zone names no region")?),
            availability_zone: zone.ok(),
            instance_type: if serverless { None } else { value("machine-type").ok() },
            instance_id: if serverless { None } else { value("id").ok() },
        })
    }

    /// Only what is needed is taken from the answer; tags and user data are dropped with it (Azure Instance Metadata
    /// Service). A service that does not know this version names those it knows.
    fn azure(&self) -> Result<CloudFacts, String> {
        let ask = |version: &str| {
            let path = format!("/metadata/instance?api-version={version}");
            http::request("GET", &self.endpoints.azure, &path, &[("Metadata", "true")], self.deadline)
        };
        let mut answer = ask("2021-02-01")?;
        if answer.status == 400
            && let Ok(refused) = json(&answer.body)
            && let Some(version) = refused["newest-versions"][0].as_str()
            && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
        {
            answer = ask(version)?;
        }
        if answer.status != 200 {
            return Err(format!("/metadata/instance answers {}", answer.status));
        }
        let json = json(&answer.body)?;
        let compute = &json["compute"];
        let region = text(compute, "location").ok_or("the answer names no location")?;
        let zone = text(compute, "zone");
        Ok(CloudFacts {
            provider: "azure",
            platform: Some("azure.vm"),
            availability_zone: zone.map(|zone| format!("{region}-{zone}")),
            region: Some(region),
            instance_type: text(compute, "vmSize"),
            instance_id: text(compute, "vmId"),
        })
    }
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|_| "the answer is not JSON".to_owned())
}

/// A field's text; `None` when it is empty or not text.
fn text(json: &Value, field: &str) -> Option<String> {
    json.get(field)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}
