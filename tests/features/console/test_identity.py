"""The sealed form of an identity: it opens with its secret, and with nothing else."""

from __future__ import annotations

import base64
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from leasehold.features.console.bodies import ApplicationCredential, Password, PastedToken, SignIn, Totp
from leasehold.features.console.identity import AccessRule, Identity, Named, seal, unseal
from leasehold.features.console.model import SECRET, digest_of, new_secret

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
NAMED = st.builds(Named, id=TEXT, name=TEXT, domain=st.none() | TEXT, domain_id=st.none() | TEXT)
RULES = st.none() | st.lists(st.builds(AccessRule, method=TEXT, path=TEXT), max_size=3).map(tuple)
TEXTS = st.lists(TEXT, max_size=4).map(tuple)
IDENTITIES = st.builds(
    Identity,
    strategy=st.sampled_from(["none", "http_basic", "keystone"]),
    user=NAMED,
    project=NAMED,
    roles=TEXTS,
    is_admin_project=st.booleans(),
    token=TEXT,
    unscoped=TEXT,
    revoke=TEXTS,
    proof=TEXT,
    access_rules=RULES,
)
EXAMPLE = Identity("keystone", Named("u", "alice"), Named("p", "demo"), ("member",), token="the-token", revoke=("r",))


@given(IDENTITIES)
def test_what_was_sealed_is_what_is_unsealed(identity: Identity) -> None:
    secret = new_secret()
    assert unseal(seal(identity, secret), secret) == identity


def test_another_secret_opens_nothing() -> None:
    secret, sealed = new_secret(), ""
    sealed = seal(EXAMPLE, secret)
    for other in (new_secret(), digest_of(secret), secret[:-1], secret.swapcase()):
        assert unseal(sealed, other) is None


def test_what_was_changed_opens_nothing() -> None:
    secret = new_secret()
    raw = bytearray(base64.urlsafe_b64decode(seal(EXAMPLE, secret)))
    for place in (0, 9, 20, len(raw) // 2, len(raw) - 1):
        changed = bytearray(raw)
        changed[place] ^= 1
        assert unseal(base64.urlsafe_b64encode(bytes(changed)).decode(), secret) is None
    assert unseal("", secret) is None


def test_the_sealed_form_and_the_identity_show_no_token() -> None:
    identity = replace(EXAMPLE, unscoped="another-token", proof="the-proof", revoke=("the-token", "another-token"))
    sealed = seal(identity, new_secret())
    for shown in (sealed, base64.urlsafe_b64decode(sealed).decode("latin-1"), repr(identity), str(identity)):
        for text in ("the-token", "another-token", "the-proof"):
            assert text not in shown
    # The same identity under the same secret never looks the same.
    secret = new_secret()
    assert seal(identity, secret) != seal(identity, secret)


def test_secrets_are_long_and_all_different() -> None:
    secrets = {new_secret() for _ in range(1000)}
    assert len(secrets) == 1000
    assert all(SECRET.fullmatch(secret) and len(base64.urlsafe_b64decode(f"{secret}=")) == 32 for secret in secrets)


def test_what_a_page_sends_shows_no_secret() -> None:
    password = Password(user="alice", password="hush-1", new_password="hush-2")
    totp = Totp(receipt="hush-3", user_id="u", passcode="hush-4")
    ways = [
        SignIn(password=password),
        SignIn(totp=totp),
        SignIn(token=PastedToken(token="hush-5")),
        SignIn(application_credential=ApplicationCredential(id="key", secret="hush-6")),
    ]
    assert "alice" in repr(ways)
    assert "hush" not in repr(ways) + str(ways) + repr([way.way for way in ways])
