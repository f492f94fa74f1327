/** Who is measured, and with which requests. */
import type { Rival } from './comparison.ts';
import type { FloorKind } from './floor.ts';
import { type Floor, models, type Running, type UpstreamName, type Upstreams } from './site.ts';

export interface Shape {
  readonly name: string;
  readonly connections: number;
  readonly stream: boolean;
  readonly upstream: UpstreamName;
}

export const shapes = [
  { name: 'c=1', connections: 1, stream: false, upstream: 'fast' },
  { name: 'c=16', connections: 16, stream: false, upstream: 'fast' },
  { name: 'c=64', connections: 64, stream: false, upstream: 'fast' },
  { name: '64 chunks at once', connections: 16, stream: true, upstream: 'fast' },
  { name: '64 chunks, translated', connections: 16, stream: true, upstream: 'translated' },
  { name: '64 chunks, 1 ms apart', connections: 64, stream: true, upstream: 'paced' },
] as const satisfies readonly Shape[];
export type ShapeName = (typeof shapes)[number]['name'];

/** Names of those that are always there. */
export const subjectNames = {
  direct: 'direct',
  floor: 'floor: fetch',
  socketFloor: 'floor: sockets',
  durableFloor: 'floor: durable',
  gateway: 'gateway',
  before: 'build before',
} as const;

const floorNames: Readonly<Record<FloorKind, string>> = {
  fetch: subjectNames.floor,
  sockets: subjectNames.socketFloor,
  durable: subjectNames.durableFloor,
};

export interface Subject {
  readonly name: string;
  /** `none` = there is no process to measure. */
  readonly pid: number | 'none' | 'unknown';
  readonly token: string;
  readonly path: string;
  readonly headers: string;
  readonly port: (upstream: UpstreamName) => number;
  /** @returns null where it is not measured with these requests. */
  readonly model: (upstream: UpstreamName) => string | null;
}

const path = '/v1/chat/completions';
const own = (upstream: UpstreamName): string => models[upstream];

export interface SubjectInput {
  readonly upstreams: Upstreams;
  readonly floors: readonly Floor[];
  readonly running: readonly (readonly [name: string, running: Running])[];
  readonly rivals: readonly Rival[];
}

export function subjectsOf({ upstreams, floors, running, rivals }: SubjectInput): readonly [Subject, ...Subject[]] {
  const bare = { token: '-', path, headers: '', model: own };
  return [
    { ...bare, name: subjectNames.direct, pid: 'none', port: (upstream) => upstreams.ports[upstream] },
    ...floors.map(({ kind, child, ports }) => ({
      ...bare,
      name: floorNames[kind],
      pid: child.pid,
      port: (upstream: UpstreamName) => ports[upstream],
    })),
    ...running.map(([name, { child, site, port }]) => ({
      ...bare,
      name,
      pid: child.pid,
      token: site.token,
      port: () => port,
    })),
    ...rivals.map((rival) => ({
      ...rival,
      pid: rival.pid ?? ('unknown' as const),
      token: rival.key,
      port: () => rival.port,
      model: modelFor(rival),
    })),
  ];
}

/** Translation happens in a channel of this gateway; a model under another name leads to the first upstream alone. */
const modelFor =
  ({ model }: Rival) =>
  (upstream: UpstreamName): string | null => {
    if (upstream === 'translated') return null;
    if (model === '') return models[upstream];
    return upstream === 'fast' ? model : null;
  };

export const bodyOf = (model: string, stream: boolean): string =>
  JSON.stringify({ model, ...(stream ? { stream: true } : {}), messages: [{ role: 'user', content: 'hello' }] });
