/** Who vouched for people that were bound before issuers were asked for: whoever answers at the token endpoint of that time. */
export const issuerAt = (tokenEndpoint: string): string => `endpoint:${tokenEndpoint}`;
