/** Keeps secrets unreadable at rest: AES-256-GCM under keys derived from one master key, which lies in a 0600 file or comes from the environment. */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { AppError } from '../../contract/errors.ts';

export interface Vault {
  /** @param purpose bound into the seal: `channel-key`, `token-key`, `option:<key>` ... */
  encrypt(purpose: string, text: string): string;
  /** @throws AppError secret_unreadable when the text was not sealed for this purpose with this key. */
  open(purpose: string, encrypted: string): string;
  /** Lower-case hex HMAC-SHA-256 under which API tokens are looked up. */
  keyHmac(key: string): string;
}

/** Words that others keep for us. */
export const sealedBlobOf = ({
  encrypt,
  open,
}: Vault): { encrypt(text: string): string; open(sealed: string): string } => ({
  encrypt: (text) => encrypt('capsule', text),
  open: (sealed) => open('capsule', sealed),
});

const version = 'v1';

export function createVault(masterKey: Buffer): Vault {
  const derive = (info: string): Buffer => Buffer.from(hkdfSync('sha256', masterKey, '', info, 32));
  const encryptionKey = derive('gateway seal');
  const hmacKey = derive('gateway token lookup');
  return {
    encrypt(purpose, text) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', encryptionKey, nonce).setAAD(Buffer.from(purpose));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return `${version}.${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')}`;
    },
    open(purpose, encrypted) {
      const [mark, encoded = ''] = encrypted.split('.');
      const bytes = Buffer.from(encoded, 'base64url');
      try {
        if (mark !== version) throw new Error('unknown seal');
        const decipher = createDecipheriv('aes-256-gcm', encryptionKey, bytes.subarray(0, 12)).setAAD(
          Buffer.from(purpose),
        );
        decipher.setAuthTag(bytes.subarray(12, 28));
        return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8');
      } catch (cause) {
        throw new AppError('secret_unreadable', { purpose }, cause);
      }
    },
    keyHmac: (key) => createHmac('sha256', hmacKey).update(key).digest('hex'),
  };
}

/** Master key from GATEWAY_SECRET_KEY, GATEWAY_SECRET_KEY_FILE or the key file, which is made at first use. @throws AppError secret_unreadable when it is too short to be one. */
export function loadMasterKey(file: string, env: Readonly<Record<string, string | undefined>>): Buffer {
  const fromEnvironment = environmentKey(env);
  if (fromEnvironment !== '') return masterKeyOf(fromEnvironment);
  if (!existsSync(file)) writeFileSync(file, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  return masterKeyOf(readFileSync(file, 'utf8'));
}

/** The vault of a database, proved on something sealed in it: a key is only made where there is nothing to open. @throws AppError secret_missing, secret_unreadable */
export function vaultFor(
  file: string,
  env: Readonly<Record<string, string | undefined>>,
  sample: { readonly purpose: string; readonly encrypted: string } | null,
): Vault {
  if (sample !== null && environmentKey(env) === '' && !existsSync(file))
    throw new AppError('secret_missing', { file });
  const vault = createVault(loadMasterKey(file, env));
  if (sample !== null) vault.open(sample.purpose, sample.encrypted);
  return vault;
}

/** The master key of the environment, '' = none. */
export const environmentKey = (env: Readonly<Record<string, string | undefined>>): string =>
  (
    env.GATEWAY_SECRET_KEY ?? (env.GATEWAY_SECRET_KEY_FILE ? readFileSync(env.GATEWAY_SECRET_KEY_FILE, 'utf8') : '')
  ).trim();

/** Characters below which a key is taken for an accident: a file cut off while it was written, an unset variable. */
const minKeyLength = 16;

/** @throws AppError secret_unreadable */
export function masterKeyOf(text: string): Buffer {
  const key = Buffer.from(text.trim(), 'utf8');
  if (key.length < minKeyLength)
    throw new AppError('secret_unreadable', { purpose: `secret key, at least ${minKeyLength} characters` });
  return key;
}

/** `abcd…wxyz`; short secrets show nothing. */
export const keyHint = (key: string): string => (key.length < 12 ? '…' : `${key.slice(0, 4)}…${key.slice(-4)}`);
