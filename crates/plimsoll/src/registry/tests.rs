//! The schemas in `docs/schema` follow from the types that are serialized: fields, descriptions
//! (doc comments) and choices. What the types do not say is added here: objects have no other
//! fields, numbers are not negative, shares are at most 1.
//!
//! `UPDATE_SCHEMAS=1 cargo test -p plimsoll schemas` writes the files.

use super::EXPERIMENTS;
use plimsoll_law::{AwakeEntry, Entry};
use plimsoll_report::{Envelope, compare, selftest, sizing};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::{env, fs};

const RULES: &str = "A value that is not known is null, never 0 and never left out. Names carry \
    their unit: _ns, _us, _ms, _s, _bytes, _rps (per second), _pct (0-100; changes and errors may \
    be negative), _share (0-1), _ratio (may exceed 1), _points (percentage points), _watts. Figures \
    that are uncertain are given as a value with the ends of its 95 % interval.";

const DECISIONS: &str = "`plimsoll side --log FILE` writes one JSON object a line; each line keeps \
    to this. Runs may follow each other in one file. A run that was killed may leave a torn last \
    line, after which the next run begins on a line of its own; `plimsoll replay` says where. New \
    kinds of entries, reasons and laws may be added.";

const GATE_DECISIONS: &str = "`plimsoll gate --log FILE` writes one JSON object a line; each line \
    keeps to this. Runs may follow each other in one file, and `plimsoll replay` reads it. New kinds \
    of entries and reasons may be added.";

/// Numbers that may be negative: their unit and meaning are stated elsewhere.
const SIGNED: [&str; 11] = [
    "value",
    "low",
    "high",
    "limit",
    "worst_case_pct",
    "burn_left_s",
    "by_pass_pct",
    "first_pct",
    "second_pct",
    "all_trials_pct",
    "all_pct",
];

/// Numbers that are more than 0.
const ABOVE_ZERO: [&str; 7] = [
    "peak_rps",
    "planned_rps",
    "price_per_hour",
    "tolerance_pct",
    "truth_rps",
    "truth_us",
    "widest_pct",
];

/// The most that numbers are, by a part of their names.
const MOST: [(&str, u32); 6] = [
    ("Headroom", 1),
    ("share", 1),
    ("Share", 1),
    ("headroom_pct", 100),
    ("target_cpu_pct", 100),
    ("cpu_at_planned_pct", 100),
];

/// Makes a schema; `kind` and `schema_version` are fixed where there are any.
type Make<'a> = &'a dyn Fn(&mut SchemaGenerator) -> Schema;
type Part<'a> = (&'a str, u32, Make<'a>);

fn schemas_of_commands() -> Vec<(String, Value)> {
    vec![
        schema(
            "compare",
            "Plimsoll's comparison of machines",
            "What `plimsoll compare` says as JSON.",
            &[("compare", 4, &Envelope::<compare::Body>::json_schema)],
        ),
        schema(
            "plan",
            "Plimsoll's plan of a fleet",
            "What `plimsoll plan` says as JSON.",
            &[("plan", 5, &Envelope::<sizing::Body>::json_schema)],
        ),
        schema(
            "selftest",
            "Plimsoll's self-test",
            "What `plimsoll selftest --format json` says.",
            &[("selftest", 4, &Envelope::<selftest::Body>::json_schema)],
        ),
        schema(
            "decisions",
            "A line of a log of decisions",
            DECISIONS,
            &[("", 0, &Entry::json_schema)],
        ),
        schema(
            "gate-decisions",
            "A line of a gate's log of decisions",
            GATE_DECISIONS,
            &[("", 0, &AwakeEntry::json_schema)],
        ),
    ]
}

fn every_schema() -> Vec<(String, Value)> {
    let mut all = schemas_of_commands();
    let part = |name: &'static str, version| {
        let entry = EXPERIMENTS.iter().find(|entry| entry.name == name);
        (name, version, move |generator: &mut _| {
            (entry.unwrap().schema)(generator)
        })
    };
    let (sweep, copies) = (part("sweep", 5), part("copies", 4));
    all.push(schema(
        "output",
        "Plimsoll's output",
        "What `plimsoll sweep`, `plimsoll copies` and `plimsoll report` say as JSON.",
        &[
            (sweep.0, sweep.1, &sweep.2),
            (copies.0, copies.1, &copies.2),
        ],
    ));
    for entry in EXPERIMENTS {
        let name = entry.name;
        let version = match name {
            "sweep" | "copies" => continue,
            "yield" => 3,
            _ => 1,
        };
        let title = format!("Plimsoll's {name}");
        let says = format!("What `plimsoll {name} --format json` says.");
        let make = entry.schema;
        all.push(schema(name, &title, &says, &[(name, version, &make)]));
    }
    all
}

fn schema(file: &str, title: &str, says: &str, parts: &[Part<'_>]) -> (String, Value) {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut generator = settings.into_generator();
    let mut parts: Vec<Value> = parts
        .iter()
        .map(|part| fixed(part, &mut generator))
        .collect();
    let mut root = match parts.len() {
        1 => parts.remove(0),
        _ => json!({ "oneOf": parts }),
    };
    let defs = generator.take_definitions(true);
    root["$defs"] = Value::Object(defs.clone());
    inline_tagged(&mut root, &defs);
    close(&mut root, false);
    bound(&mut root);
    tidy(&mut root);
    remove_unused(&mut root);
    let name = format!("{file}.schema.json");
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["$id"] = json!(format!("https://plimsoll.invalid/schema/{name}"));
    root["title"] = json!(title);
    root["description"] = json!(format!("{says} {RULES}"));
    (name, root)
}

/// The schema of a part, with its version and kind.
fn fixed((kind, version, make): &Part<'_>, generator: &mut SchemaGenerator) -> Value {
    let mut schema = make(generator).to_value();
    let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return schema;
    };
    fields["schema_version"] =
        json!({"description": "The version of this contract.", "const": version});
    fields["kind"] = json!({"description": "What this is.", "const": kind});
    // Only `yield` runs a job, and always.
    if *kind == "yield" {
        schema["required"]
            .as_array_mut()
            .unwrap()
            .push(json!("job"));
    } else {
        fields.remove("job");
    }
    schema
}

/// A variant with a tag and the fields of another type refers to that type. That one is closed and
/// would refuse the tag, so its fields are put in.
fn inline_tagged(value: &mut Value, defs: &Map<String, Value>) {
    if value.get("properties").is_some_and(Value::is_object)
        && let Some(to) = value.as_object_mut().unwrap().remove("$ref")
    {
        let of = &defs[to.as_str().unwrap().trim_start_matches("#/$defs/")];
        let fields = of["properties"].as_object().unwrap().clone();
        value["properties"].as_object_mut().unwrap().extend(fields);
        let required = of["required"].as_array().unwrap().clone();
        value["required"].as_array_mut().unwrap().extend(required);
    }
    each_part(value, |_, part| inline_tagged(part, defs));
}

/// No object has other fields. `open` is one that is a part of another.
fn close(value: &mut Value, open: bool) {
    const CHOICES: [&str; 3] = ["oneOf", "anyOf", "allOf"];
    let has_fields = value.get("properties").is_some_and(Value::is_object);
    if has_fields && !open {
        let has_choice = CHOICES.iter().any(|key| value.get(key).is_some());
        let rest = match has_choice {
            true => "unevaluatedProperties",
            false => "additionalProperties",
        };
        value[rest] = json!(false);
    }
    each_part(value, |key, part| {
        let is_choice = key.is_empty() || CHOICES.contains(&key);
        close(part, is_choice && (open || has_fields));
    });
}

/// Bounds of numbers that state none, by the names of fields and of types.
fn bound(value: &mut Value) {
    for names in ["properties", "$defs"] {
        let Some(named) = value.get_mut(names).and_then(Value::as_object_mut) else {
            continue;
        };
        for (name, of) in named.iter_mut() {
            let is_list = of.get("items").is_some();
            bound_number(name, if is_list { &mut of["items"] } else { of });
        }
    }
    each_part(value, |_, part| bound(part));
}

fn bound_number(name: &str, number: &mut Value) {
    if name.contains("instances") && number["minimum"] == 0 {
        number["minimum"] = json!(1);
    }
    let is_number = number["type"] == "number" || number["type"] == json!(["number", "null"]);
    let bounds = ["minimum", "exclusiveMinimum"];
    let is_bound = bounds.iter().any(|key| number.get(key).is_some());
    if !is_number || is_bound || SIGNED.contains(&name) {
        return;
    }
    let least = usize::from(ABOVE_ZERO.contains(&name));
    number[bounds[least]] = json!(0);
    if let Some((_, most)) = MOST.iter().find(|(part, _)| name.contains(part)) {
        number["maximum"] = json!(most);
    }
}

/// Rust's words out, and what says nothing about JSON.
fn tidy(value: &mut Value) {
    if let Some(object) = value.as_object_mut() {
        object.retain(|key, of| !(key == "format" && of.is_string()) && key != "default");
        if let Some(Value::String(text)) = object.get_mut("description") {
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            *text = line
                .replace("`None`", "null")
                .replace("[`", "`")
                .replace("`]", "`");
        }
    }
    each_part(value, |_, part| tidy(part));
}

fn remove_unused(root: &mut Value) {
    loop {
        let text = root.to_string();
        let defs = root["$defs"].as_object_mut().unwrap();
        let all = defs.len();
        defs.retain(|name, _| text.contains(&format!("\"#/$defs/{name}\"")));
        if defs.len() == all {
            break;
        }
    }
}

/// Calls `each` with every part and its key; those of lists have none.
fn each_part(value: &mut Value, mut each: impl FnMut(&str, &mut Value)) {
    match value {
        Value::Object(parts) => parts.iter_mut().for_each(|(key, part)| each(key, part)),
        Value::Array(parts) => parts.iter_mut().for_each(|part| each("", part)),
        _ => {}
    }
}

#[test]
fn schemas_are_those_of_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    let all = every_schema();
    for (name, schema) in &all {
        let file = folder.join(name);
        if env::var_os("UPDATE_SCHEMAS").is_some() {
            fs::write(&file, format!("{schema:#}\n")).unwrap();
        }
        let text = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            serde_json::from_str(&text).ok().as_ref() == Some(schema),
            "docs/schema/{name} differs from the types; renew it with UPDATE_SCHEMAS=1 cargo test -p plimsoll schemas"
        );
    }
    assert_eq!(fs::read_dir(folder).unwrap().count(), all.len());
}
