/** How providers sign thoughts, and whether they refuse what they did not sign. */
import type { ProtocolId } from '../../protocols/canonical.ts';
import type { Signing } from '../../protocols/shared/signature.ts';
import type { WithSource } from './row.ts';

export interface SigningRow extends WithSource {
  /** Slug of the catalogue. */
  readonly provider: string;
  readonly dialect: ProtocolId;
  /** Own hosts; other hosts of the same type may be another provider's. Absent = wherever it is called. */
  readonly hosts?: RegExp;
  /** The form of its signatures. */
  readonly form?: RegExp;
  /** It takes unsigned thoughts. */
  readonly unsigned?: true;
  /** With a thinking budget, it refuses a last turn with calls that does not begin with a thought. */
  readonly thoughtFirst?: true;
}

/** A binary message in base64; what others sign with (ids, hexadecimal sums, marks) is none. Signatures are the same on all platforms that host these models. */
const sealed = /^[C-Y][A-Za-z0-9+/]{40,}={0,2}$/;
const sealedSource = 'https://platform.claude.com/docs/en/build-with-claude/extended-thinking';
/** A Fernet token. */
const encrypted = /^gAAAA/;
const encryptedSource = 'https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items';

const signingRows: readonly SigningRow[] = [
  {
    provider: 'anthropic',
    dialect: 'anthropic-messages',
    hosts: /(?:^|\.)anthropic\.com$/,
    form: sealed,
    thoughtFirst: true,
    source: sealedSource,
  },
  { provider: 'aws', dialect: 'anthropic-messages', form: sealed, thoughtFirst: true, source: sealedSource },
  { provider: 'vertex', dialect: 'anthropic-messages', form: sealed, thoughtFirst: true, source: sealedSource },
  {
    provider: 'openai',
    dialect: 'openai-responses',
    hosts: /(?:^|\.)openai\.com$/,
    form: encrypted,
    source: encryptedSource,
  },
  { provider: 'azure', dialect: 'openai-responses', form: encrypted, source: encryptedSource },
  {
    provider: 'deepseek',
    dialect: 'anthropic-messages',
    unsigned: true,
    source: 'https://api-docs.deepseek.com/guides/anthropic_api',
  },
];

/** How a refusal of a signature is worded: it may have the right form and still be another account's or model's. */
const signatureRefusals: readonly (WithSource & { readonly words: RegExp })[] = [
  {
    words: /invalid\s+`?signature`?\s+in\s+`?thinking`?/i,
    source: 'https://github.com/anthropics/claude-code/issues/10627',
  },
  {
    words: /invalid_encrypted_content|encrypted content .*could not be (?:verified|decrypted)/is,
    source: 'https://github.com/openai/codex/issues/8145',
  },
  {
    words: /corrupted thought signature|thought signature is not valid/i,
    source: 'https://ai.google.dev/gemini-api/docs/thought-signatures',
  },
];

export const rejectsSignature = (words: string): boolean => signatureRefusals.some((row) => row.words.test(words));

/** For upstreams whose signature no block of a history carries. */
export const nothingSigned: Signing = { form: /(?!)/, unsigned: false };

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).hostname : '');

const unknownSigning: Signing = { form: null, unsigned: false };

const known = new Map<string, Signing>();
/** A channel has one base. */
const maxKnown = 1000;

/** @param baseUrl where it is called. */
export function signingAt(provider: string, dialect: ProtocolId, baseUrl: string): Signing {
  const key = `${provider} ${dialect} ${baseUrl}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  if (known.size >= maxKnown) known.clear();
  const signing = signingOf(provider, dialect, baseUrl);
  known.set(key, signing);
  return signing;
}

function signingOf(provider: string, dialect: ProtocolId, baseUrl: string): Signing {
  const row = signingRows.find((one) => one.provider === provider && one.dialect === dialect);
  if (row === undefined) return unknownSigning;
  const own = row.hosts === undefined || row.hosts.test(hostOf(baseUrl));
  return {
    form: own ? (row.form ?? null) : null,
    unsigned: row.unsigned === true,
    thoughtFirst: row.thoughtFirst === true,
  };
}
