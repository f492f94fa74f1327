/** JSON Web Tokens as providers want them signed. */
import { importPKCS8, type JWTPayload, SignJWT } from 'jose';
import { AppError } from '../../contract/errors.ts';

/** @param header members besides `alg`. */
export const hs256 = (header: object, payload: JWTPayload, secret: string): Promise<string> =>
  new SignJWT(payload).setProtectedHeader({ alg: 'HS256', ...header }).sign(new TextEncoder().encode(secret));

/** @param privateKey PKCS #8 in PEM. @throws AppError upstream_key when it is no key. */
export const rs256 = async (header: object, payload: JWTPayload, privateKey: string): Promise<string> =>
  new SignJWT(payload).setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...header }).sign(await keyOf(privateKey));

async function keyOf(privateKey: string) {
  try {
    return await importPKCS8(privateKey, 'RS256');
  } catch (cause) {
    throw new AppError('upstream_key', {}, cause);
  }
}
