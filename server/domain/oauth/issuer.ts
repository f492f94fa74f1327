/** The issuer of identities that were bound before issuers were stored: the server at the token endpoint of that time. */
export const issuerAt = (tokenEndpoint: string): string => `endpoint:${tokenEndpoint}`;
