/** What may become a part of an upstream's address: nothing that leads out of the place it is put in. */

const dots = /(?:^|[/\\])\.{1,2}(?:[/\\]|$)/;

/** Names hold slashes at some upstreams, but no step upwards, no control characters and nothing that is no text. */
export function isModelName(name: string): boolean {
  const known = checkedNames.get(name);
  if (known !== undefined) return known;
  if (checkedNames.size >= maxChecked) checkedNames.clear();
  const fine = name.isWellFormed() && !/\p{Cc}/u.test(name) && !dots.test(name);
  checkedNames.set(name, fine);
  return fine;
}

/** Each request asks for its model three times, and few models are asked for. */
const checkedNames = new Map<string, boolean>();
const maxChecked = 1000;

/** A version, a region, an account: one plain word. */
export const isAddressPart = (text: string): boolean => /^[A-Za-z0-9](?:[A-Za-z0-9_:@-]|\.(?!\.))*$/.test(text);
