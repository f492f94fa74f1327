/** What may become a part of an upstream's address: nothing that leads out of the place it is put in. */

const dots = /(?:^|[/\\])\.{1,2}(?:[/\\]|$)/;

/** Names hold slashes at some upstreams, but no step upwards, no control characters and nothing that is no text. */
export const isModelName = (name: string): boolean => name.isWellFormed() && !/\p{Cc}/u.test(name) && !dots.test(name);

/** A version, a region, an account: one plain word. */
export const isAddressPart = (text: string): boolean => /^[A-Za-z0-9](?:[A-Za-z0-9_:@-]|\.(?!\.))*$/.test(text);
