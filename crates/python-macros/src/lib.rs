//! The attribute that every entry of the bindings passes.

use proc_macro::TokenStream;
use quote::quote;
use syn::{Block, Error, ImplItem, Item, ReturnType, Signature, Type, parse_quote, parse2};

/// Lets what Python calls pass `crate::border::enter_core`, so that a panic becomes an exception.
///
/// It stands before `#[pyfunction]`, or before the `#[pymethods]` of an `impl`, whose functions all pass. One that gives a plain value
/// gives a `PyResult` of it from then on.
#[proc_macro_attribute]
pub fn entry(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    entered(item.into()).unwrap_or_else(Error::into_compile_error).into()
}

fn entered(item: proc_macro2::TokenStream) -> Result<proc_macro2::TokenStream, Error> {
    match parse2(item)? {
        Item::Fn(mut function) => {
            enter(&mut function.sig, &mut function.block)?;
            Ok(quote!(#function))
        }
        Item::Impl(mut methods) => {
            for item in &mut methods.items {
                if let ImplItem::Fn(method) = item {
                    enter(&mut method.sig, &mut method.block)?;
                }
            }
            Ok(quote!(#methods))
        }
        other => Err(Error::new_spanned(other, "an entry is a function or the methods of a class")),
    }
}

fn enter(signature: &mut Signature, body: &mut Block) -> Result<(), Error> {
    let given: Type = match &signature.output {
        ReturnType::Default => parse_quote!(()),
        ReturnType::Type(_, given) => (**given).clone(),
    };
    let name = signature.ident.to_string();
    *body = if is_result(&given) {
        parse_quote!({ crate::border::enter_core(#name, move || -> #given #body) })
    } else {
        signature.output = parse_quote!(-> ::pyo3::PyResult<#given>);
        parse_quote!({ crate::border::enter_core(#name, move || { let given: #given = (move || #body)(); Ok(given) }) })
    };
    Ok(())
}

fn is_result(given: &Type) -> bool {
    let Type::Path(path) = given else { return false };
    path.path.segments.last().is_some_and(|last| last.ident == "PyResult")
}
