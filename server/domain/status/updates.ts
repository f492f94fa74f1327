/** Is there a newer release? Asks the address the operator gave, and says politely when it cannot. */
import { AppError } from '../../contract/errors.ts';

const timeoutMs = 5000;
const maxNotesLength = 100_000;

export interface UpdateCheck {
  readonly current: string;
  readonly latest: string;
  readonly newer: boolean;
  /** Markdown. */
  readonly notes: string;
}

const parts = (version: string): number[] => (version.match(/\d+/g) ?? []).map(Number);

/** @returns whether `other` is a later version than `current`; both may carry a leading v. */
export function isNewer(other: string, current: string): boolean {
  const [left, right] = [parts(other), parts(current)];
  const maxLength = Math.max(left.length, right.length);
  for (let index = 0; index < maxLength; index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}

/** @param address answers with the latest release as `{tag_name, body}`. @throws AppError update_unset, update_unreachable. */
export async function checkForUpdate(
  address: string,
  current: string,
  fetchRelease: (url: string, init: RequestInit) => Promise<Response>,
): Promise<UpdateCheck> {
  if (address === '') throw new AppError('update_unset');
  try {
    const response = await fetchRelease(address, {
      signal: AbortSignal.timeout(timeoutMs),
      headers: { accept: 'application/json' },
    });
    const release = (await response.json()) as { readonly tag_name?: unknown; readonly body?: unknown };
    if (!response.ok || typeof release.tag_name !== 'string') throw new Error(`HTTP ${response.status}`);
    const notes = typeof release.body === 'string' ? release.body.slice(0, maxNotesLength) : '';
    return { current, latest: release.tag_name, newer: isNewer(release.tag_name, current), notes };
  } catch (error) {
    throw new AppError('update_unreachable', {}, error);
  }
}
