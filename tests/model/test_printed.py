"""Names that print as one symbol are refused, and what drops out without a word is too."""

import pytest

import symbptt
from symbptt.model.read import InputError, load, loads, source_text


def changed(old: str, new: str, *more: tuple[str, str]) -> str:
    text = source_text("linear")
    for before, after in ((old, new), *more):
        assert before in text
        text = text.replace(before, after)
    return text


@pytest.mark.parametrize("name", [
    "W__hx", "h_1", "h_t", "h_T", "k_t", "lambda_t", "I_t_", "x_3", "L_", "I", "I_", "T_", "y_", "o_12"])
def test_a_name_that_prints_like_another_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="prints like") as refused:
        loads(changed('W_hh = "h, h"', f'W_hh = "h, h"\n{name} = "h, h"'))
    assert refused.value.line in (13, 20)


@pytest.mark.parametrize("name", ["W", "h1_x", "hx", "W_h", "h_x", "x_t_y", "lambda_", "t_x"])
def test_names_that_print_apart_are_fine(name: str) -> None:
    assert loads(changed('W_hh = "h, h"', f'W_hh = "h, h"\n{name} = "h, h"'))


@pytest.mark.parametrize(("name", "call", "like"), [
    ("sigma", "sigmoid", "sigmoid"), ("ReLU", "relu", "relu"), ("log", "log_softmax", "log_softmax"),
    ("cos", "sin", "cos"), ("sigma", "softplus", "sigmoid"), ("dW_hx", "tanh", "the change of W_hx"),
    ("dh", "tanh", "the change of h"), ("Sigma", "tanh", "the sign of a sum"), ("diag", "tanh", "diag")])
def test_a_name_that_prints_like_a_function_a_change_or_a_sign_is_refused(name: str, call: str, like: str) -> None:
    called = ("W_hx @ x + W_hh @ h[t-1]", f"{call}(W_hx @ x + W_hh @ h[t-1])")
    assert loads(changed('W_hh = "h, h"', 'W_hh = "h, h"\nG = "h, h"', called))
    with pytest.raises(InputError, match=f"{name} prints like .*{like}"):
        loads(changed('W_hh = "h, h"', f'W_hh = "h, h"\n{name} = "h, h"', called))


@pytest.mark.parametrize("name", ["tanh", "sigma", "log", "exp", "softmax", "CE", "ELU", "concat"])
def test_a_name_that_prints_like_a_function_is_refused_though_none_is_applied(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} prints like"):
        loads(changed('W_hh = "h, h"', f'W_hh = "h, h"\n{name} = "h, h"'))


@pytest.mark.parametrize(("name", "like"), [
    ("CE", "softmax_cross_entropy"), ("SE", "squared_error"), ("ReLU", "relu"), ("max", "max, the larger"),
    ("diag", "diag, which")])
def test_a_loss_that_prints_like_something_else_is_refused(name: str, like: str) -> None:
    with pytest.raises(InputError, match=f"the loss {name} prints like .*{like}"):
        loads(changed('"l(o, y)"', f'"{name}(o, y)"'))
    assert loads(changed('"l(o, y)"', '"ell(o, y)"'))


def test_losses_and_sizes_that_print_alike_are_refused() -> None:
    with pytest.raises(InputError, match="the loss l_1 prints like the loss l1"):
        loads(changed('term   = "l(o, y)"', 'term = "l1(o, y)"\nreduce = "mean"\n[[loss]]\nterm = "l_1(h, y)"'))
    with pytest.raises(InputError, match="the size I prints like the identity"):
        loads(changed('h = "hidden"', 'h = "hidden"\nI = "other"'))
    with pytest.raises(InputError, match="the size d prints like the constant d"):
        loads(changed("[inputs]", '[constants]\nd = ""\n[inputs]'))


@pytest.mark.parametrize("name", ["i", "k", "j"])
def test_a_loss_may_be_called_as_an_index_is(name: str) -> None:
    made = symbptt.derive(loads(source_text("elman").replace('"l(o, y)"', f'"{name}(o, y)"')))
    assert len(symbptt.replay(made.proof_json())) == len(made.theorems)


def test_no_index_is_called_like_the_subscript_of_a_parameter_beside_a_state() -> None:
    text = source_text("elman").replace("b_h", "h_k")
    made = symbptt.derive(loads(text)).to_text()
    assert "Π_{" in made
    assert "Π_{k=" not in made


def test_digits_are_subscripts() -> None:
    with pytest.raises(InputError, match="W_1 prints like W1"):
        loads(changed('W_hh = "h, h"', 'W_hh = "h, h"\nW1 = "h, h"\nW_1 = "h, h"'))


def test_a_zero_factor_is_refused() -> None:
    with pytest.raises(InputError, match="leave the term out"):
        loads(changed("W_hh @ h[t-1]", "0*W_hh @ h[t-1]"))
    with pytest.raises(InputError, match="leave the term out"):
        loads(changed('"l(o, y)"', '"0*l(o, y)"'))


def test_a_loss_reads_each_variable_once() -> None:
    with pytest.raises(InputError, match="twice"):
        loads(changed('"l(o, y)"', '"l(o, o)"'))


def test_a_loss_reads_data_that_carry_a_gradient_at_t_only() -> None:
    with pytest.raises(InputError, match="reads targets only"):
        loads(changed('"l(o, y)"', '"l(o, x[t-1])"'))
    assert loads(changed('"l(o, y)"', '"l(o, y[t-1])"')).initial[-1].family.name in ("h", "y")


def test_descriptions_are_one_line() -> None:
    for character in ("\\u0007", "\\u202e", "\\u2066"):  # the last two turn the direction of what follows
        with pytest.raises(InputError, match="control characters"):
            loads(changed('h = "hidden"', f'h = "a{character}b"'))
    assert loads(changed('h = "hidden"', 'h = "\\u05d0\\u200d"')).name == "linear"


def test_the_library_loads() -> None:
    assert load("linear").name == "linear"
