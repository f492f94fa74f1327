/** The machines that serve this site together. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { nothing, text, toggle } from './fields.ts';

const nodeShape = z.object({
  name: z.string(),
  /** `draining` = it ends what is under way and takes nothing new; `gone` = its last heartbeat is too old. */
  state: z.enum(['live', 'draining', 'gone']),
  version: z.string(),
  schema: z.string(),
  /** Epoch seconds. */
  started_at: z.int(),
  /** Seconds since its last sign of life. */
  silent_seconds: z.int(),
  /** Cores in use, in hundredths; null = not reported yet. */
  cpu_percent: z.nullable(z.int()),
  memory_bytes: z.nullable(z.int()),
  relays: z.nullable(z.int()),
  /** Users and keys of whose quota it has a part in hand, and how much of the users'. */
  leases: z.int(),
  leased_quota: z.int(),
  /** Requests under way that are in the books. */
  open: z.int(),
  /** Seconds until what a node that is gone left open is settled and its leases are free; null = nothing is open. */
  settles_seconds: z.nullable(z.int()),
  /** Seconds until a node that has missed heartbeats counts as gone and its leases end; null = it is heard of, or gone. */
  gone_seconds: z.nullable(z.int()),
  /** It did not end in order: its disk may hold bills that the database does not have. */
  owes: z.boolean(),
  /** Off the list as soon as what it left open is settled. */
  forgotten: z.boolean(),
  /** Bills that it has and the database has not. */
  waiting: z.nullable(z.int()),
  /** Milliseconds by which its knowledge of keys, prices and channels may be late. */
  news_ms: z.nullable(z.int()),
  /** Its leases end so many seconds after its last heartbeat reached the database. */
  lease_seconds: z.nullable(z.int()),
  /** Changes reach it by themselves; otherwise it asks four times a second. */
  hears: z.nullable(z.boolean()),
  /** Why it admits no paid request, null = it does: a code of `storage-reasons.ts`, and what varies in its words. */
  trouble: z.nullable(z.object({ code: z.string(), params: z.record(z.string(), z.union([z.string(), z.number()])) })),
});

export const nodeEndpoints = [
  endpoint({
    id: 'node.list',
    method: 'GET',
    path: '/api/node/',
    access: 'admin',
    input: z.object({}),
    /** `several`: the site is made for more than one machine. */
    output: z.object({ several: z.boolean(), nodes: z.array(nodeShape) }),
    summary: { zh: '节点列表', en: 'The nodes of this site' },
  }),
  endpoint({
    id: 'node.drain',
    method: 'POST',
    path: '/api/node/drain',
    access: 'root',
    input: z.object({ name: text }),
    output: nothing,
    summary: { zh: '让节点处理完现有请求后退出', en: 'Let a node finish what it has and end' },
  }),
  endpoint({
    id: 'node.forget',
    method: 'POST',
    path: '/api/node/forget',
    access: 'root',
    /** `write_off`: what it may still owe is given up now; `when_settled`: when its open requests have had their time. */
    input: z.object({ name: text, write_off: toggle, when_settled: toggle }),
    output: nothing,
    summary: { zh: '从列表移除已离开的节点', en: 'Take a node that is gone off the list' },
  }),
] as const;
