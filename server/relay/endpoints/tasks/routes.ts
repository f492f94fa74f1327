/** Which calls of midjourney-proxy and Suno a path means. */

export type TaskRoute =
  | { readonly kind: 'draw'; readonly submit: string; readonly mode: string; readonly path: string }
  | { readonly kind: 'drawing'; readonly mjId: string; readonly seed: boolean }
  | { readonly kind: 'drawings' }
  | { readonly kind: 'image'; readonly mjId: string }
  | { readonly kind: 'notify'; readonly channelId: number; readonly proof: string }
  | { readonly kind: 'sing'; readonly action: string }
  | { readonly kind: 'song'; readonly taskId: string }
  | { readonly kind: 'songs' };

const midjourneyPath = /^(?:\/([a-z][\w-]*))?\/mj\/(.+?)\/?$/;
/** Actions that can be submitted below `/mj/submit/`. */
export const midjourneySubmits: ReadonlySet<string> = new Set([
  'imagine',
  'change',
  'simple-change',
  'describe',
  'blend',
  'shorten',
  'action',
  'modal',
  'upload-discord-images',
  'edits',
  'video',
]);

/** @returns null for paths that order or ask for no task. */
export function taskFor(path: string): TaskRoute | null {
  if (path.startsWith('/suno/')) return songFor(path.slice('/suno/'.length).replace(/\/$/, ''));
  const match = path.includes('/mj/') ? midjourneyPath.exec(path) : null;
  if (match === null) return null;
  const [, mode = '', rest = ''] = match;
  const [first = '', second = '', third = '', ...more] = rest.split('/');
  if (more.length > 0) return null;
  if (first === 'submit' && midjourneySubmits.has(second) && third === '')
    return { kind: 'draw', submit: second, mode, path: `/mj/${rest}` };
  if (rest === 'insight-face/swap') return { kind: 'draw', submit: 'swap', mode, path: '/mj/insight-face/swap' };
  if (rest === 'task/list-by-condition') return { kind: 'drawings' };
  if (first === 'task' && (third === 'fetch' || third === 'image-seed'))
    return { kind: 'drawing', mjId: second, seed: third === 'image-seed' };
  if (first === 'image' && second !== '' && third === '') return { kind: 'image', mjId: second };
  // A caller without the proof in the address that was given to the upstream is not trusted.
  if (rest === 'notify') return { kind: 'notify', channelId: 0, proof: '' };
  if (first === 'notify' && /^\d+$/.test(second)) return { kind: 'notify', channelId: Number(second), proof: third };
  return null;
}

function songFor(rest: string): TaskRoute | null {
  const [first, second = '', ...more] = rest.split('/');
  if (more.length > 0) return null;
  if (first === 'submit' && second !== '') return { kind: 'sing', action: second };
  if (first === 'fetch') return second === '' ? { kind: 'songs' } : { kind: 'song', taskId: second };
  return null;
}

/** `mj-turbo` requests turbo; the word goes upstream with the prompt only where the operator leaves it. */
export const modeOf = (prefix: string): string => /^(?:mj-)?(fast|relax|turbo)$/.exec(prefix)?.[1] ?? '';
