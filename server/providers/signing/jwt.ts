/** JSON Web Tokens as providers want them signed. */
import { importPKCS8, type JWTPayload, SignJWT } from 'jose';

/** @param header members besides `alg`. */
export const hs256 = (header: object, payload: JWTPayload, secret: string): Promise<string> =>
  new SignJWT(payload).setProtectedHeader({ alg: 'HS256', ...header }).sign(new TextEncoder().encode(secret));

/** @param privateKey PKCS #8 in PEM. @throws Error when it is no key. */
export const rs256 = async (header: object, payload: JWTPayload, privateKey: string): Promise<string> =>
  new SignJWT(payload)
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...header })
    .sign(await importPKCS8(privateKey, 'RS256'));
