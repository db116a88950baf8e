//! What is wrong with a path is said when it is loaded.

use super::*;

#[tokio::test]
async fn a_path_that_is_no_plug_in_is_refused_by_what_is_wrong_with_it() {
    let host = host(2).await;
    let cases = [
        (Kind::Matcher, "plug", Cause::BadPath, "is not a dotted path"),
        (Kind::Matcher, "plug:", Cause::BadPath, "is not a dotted path"),
        (Kind::Matcher, "no_such_module:same", Cause::Import, "there is no module 'no_such_module'"),
        (Kind::Matcher, "plug.deeper:same", Cause::Import, "plug.deeper"),
        (Kind::Matcher, "broken:same", Cause::Import, "No module named 'nothing_of_this_name'"),
        (Kind::Matcher, "plug:absent", Cause::Missing, "module 'plug' has no 'absent'"),
        (Kind::Matcher, "plug:NUMBER", Cause::NotCallable, "is not callable but int"),
        (Kind::Matcher, "plug:async_matcher", Cause::AsyncRefused, "is async"),
        (Kind::Picker, "plug:async_matcher", Cause::AsyncRefused, "a picker must be a plain function"),
        (Kind::PostProcessor, "plug:async_matcher", Cause::AsyncRefused, "a postprocessor must be"),
    ];
    for (kind, path, expected, message) in cases {
        let Err(error) = host.load(kind, path).await else { panic!("{path} was loaded") };
        assert_eq!(cause(&error), expected, "{path}: {error}");
        let text = error.to_string();
        assert!(text.contains(message) && text.contains(path), "{path}: {text}");
    }
}

#[tokio::test]
async fn both_spellings_of_a_path_lead_to_the_function() {
    let host = host(1).await;
    for path in ["plug:total", "plug.total"] {
        let plugin = host.load(Kind::Reward, path).await.unwrap();
        assert_eq!(call(&plugin, json!([1, 2, 3])).await.unwrap(), json!(6));
        assert!(!plugin.is_async());
    }
}

#[tokio::test]
async fn an_interpreter_that_is_not_there_is_named_with_the_way_out() {
    let Err(error) = Host::start(HostOptions { python: "no-such-python".into(), ..options() }).await else {
        panic!("it started");
    };
    assert!(matches!(&error, PluginError::Interpreter { python, .. } if python == "no-such-python"));
    assert!(error.to_string().contains("install Python 3.10 or newer"), "{error}");
}

#[tokio::test]
async fn a_package_that_is_not_there_is_named_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let bare = HostOptions { search_paths: Vec::new(), cwd: Some(folder.path().to_owned()), ..options() };
    let Err(error) = Host::start(bare).await else { panic!("it started") };
    assert!(matches!(error, PluginError::Package { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("pip install ./python") && text.contains("No module named"), "{text}");
}
