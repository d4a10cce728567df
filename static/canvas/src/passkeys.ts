/*
 * `form[data-passkey]`: before it is sent, the browser makes a passkey (`create`) or signs with one (`get`), and what
 * comes of it goes into the form. What is to be signed comes from an address, or from the element that `data-options`
 * names. Without a script, or where a browser keeps no passkeys, such a form stays hidden: there are other ways in.
 */

type Options = { publicKey: unknown };

const UNDONE = "Nothing was signed: it was given up, took too long, or this device has no passkey for the studio.";
const NOT_HERE = "This browser keeps no passkeys at this address; they need https.";

for (const form of document.querySelectorAll<HTMLFormElement>("form[data-passkey]")) {
  if (!("PublicKeyCredential" in window)) {
    if (!form.hidden) complain(form, NOT_HERE);
    continue;
  }
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void carryOut(form);
  });
}

async function carryOut(form: HTMLFormElement): Promise<void> {
  complain(form, "");
  try {
    const { publicKey } = await optionsOf(form);
    const made =
      form.dataset.passkey === "create"
        ? await navigator.credentials.create({ publicKey: toCreate(publicKey as PublicKeyCredentialCreationOptionsJSON) })
        : await navigator.credentials.get({ publicKey: toGet(publicKey as PublicKeyCredentialRequestOptionsJSON) });
    const field = form.elements.namedItem("credential");
    if (!(made instanceof PublicKeyCredential) || !(field instanceof HTMLInputElement)) throw new Error(UNDONE);
    field.value = JSON.stringify(written(made));
    form.submit();
  } catch {
    complain(form, UNDONE);
  }
}

async function optionsOf(form: HTMLFormElement): Promise<Options> {
  const from = form.dataset.options ?? "";
  if (from.startsWith("#")) return JSON.parse(document.querySelector(from)?.textContent ?? "{}") as Options;
  const response = await fetch(from, { headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error(String(response.status));
  return ((await response.json()) as { request_options: Options }).request_options;
}

function complain(form: HTMLFormElement, text: string): void {
  const place = form.querySelector<HTMLElement>("[data-passkey-error]");
  if (place === null) return;
  place.textContent = text;
  place.hidden = text === "";
}

// --- between bytes and the letters that JSON has for them -------------------------------------------------------------

const toCreate = (given: PublicKeyCredentialCreationOptionsJSON): PublicKeyCredentialCreationOptions => ({
  rp: given.rp,
  pubKeyCredParams: given.pubKeyCredParams,
  challenge: bytes(given.challenge),
  user: { ...given.user, id: bytes(given.user.id) },
  excludeCredentials: named(given.excludeCredentials),
  authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification: "required" },
  extensions: { credProps: true },
});

const toGet = (given: PublicKeyCredentialRequestOptionsJSON): PublicKeyCredentialRequestOptions => ({
  ...(given.rpId === undefined ? {} : { rpId: given.rpId }),
  challenge: bytes(given.challenge),
  allowCredentials: named(given.allowCredentials),
  userVerification: "required",
});

const named = (given: PublicKeyCredentialDescriptorJSON[] | undefined): PublicKeyCredentialDescriptor[] =>
  (given ?? []).map(({ id }) => ({ type: "public-key", id: bytes(id) }));

export function bytes(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
}

export function letters(buffer: ArrayBuffer): string {
  const plain = Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join("");
  return btoa(plain).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

function written(made: PublicKeyCredential): Record<string, unknown> {
  const { response } = made;
  const common = {
    id: made.id,
    rawId: letters(made.rawId),
    type: made.type,
    authenticatorAttachment: made.authenticatorAttachment,
    clientExtensionResults: made.getClientExtensionResults(),
  };
  const clientDataJSON = letters(response.clientDataJSON);
  if (response instanceof AuthenticatorAttestationResponse) {
    const attestationObject = letters(response.attestationObject);
    return { ...common, response: { clientDataJSON, attestationObject, transports: response.getTransports() } };
  }
  const signed = response as AuthenticatorAssertionResponse;
  return {
    ...common,
    response: {
      clientDataJSON,
      authenticatorData: letters(signed.authenticatorData),
      signature: letters(signed.signature),
      userHandle: signed.userHandle === null ? null : letters(signed.userHandle),
    },
  };
}
