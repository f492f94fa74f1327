/** Things by id or by name. */
import { AppError } from '../../server/contract/errors.ts';

interface Named {
  readonly id: number;
}

/** @throws AppError not_found, name_ambiguous. */
export function only<Thing extends Named>(found: readonly Thing[], what: string, ref: string): Thing {
  const [first, second] = found;
  if (first === undefined) throw new AppError('not_found', { what: `${what} ${ref}` });
  if (second !== undefined)
    throw new AppError('name_ambiguous', { what: ref, candidates: found.map((one) => one.id).join(', ') });
  return first;
}

export const isId = (ref: string): boolean => /^\d+$/.test(ref);

/** Every page of a list. @param fetch gets page numbers from 0 on and may give at most `size` items. */
export async function everyPage<Thing>(
  size: number,
  fetch: (page: number) => Promise<readonly Thing[]>,
): Promise<Thing[]> {
  const all: Thing[] = [];
  for (let page = 0; ; page++) {
    const some = await fetch(page);
    all.push(...some);
    if (some.length < size) return all;
  }
}
