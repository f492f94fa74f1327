/** Largest body that the API takes, in bytes. */
export const bodyLimit = 1024 * 1024;
