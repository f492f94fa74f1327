/** Links that open an invoice or a statement without an account. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { page } from '../entities.ts';
import { invoiceShape } from '../invoice.ts';
import { linkDays, linkKinds } from '../link.ts';
import { statementShape } from '../statement.ts';
import { id, number, text, toggle } from './fields.ts';
import { whose } from './statement.ts';

const int = z.int();
const linkShape = z.object({
  id: int,
  kind: z.enum(linkKinds),
  /** Number of the invoice, or the month and whose statement it is. */
  title: z.string(),
  user_id: int,
  /** Who made it; '' = nobody who still exists. */
  created_by: z.string(),
  created_time: int,
  /** Epoch seconds. */
  expires_time: int,
  /** Why it opens nothing; '' = it opens. */
  state: z.enum(['', 'revoked', 'expired']),
  /** How often it was opened, and when for the last time; 0 = never. */
  opened: int,
  opened_time: int,
});
export type DocumentLink = z.infer<typeof linkShape>;

export const linkEndpoints = [
  endpoint({
    id: 'link.list',
    method: 'GET',
    path: '/api/link/',
    access: 'user',
    /** Lists links of the caller's own documents and those that he made. `all` = everybody's, for administrators. `keyword`: in the title. */
    input: z.object({ p: number, page_size: number, keyword: text, all: toggle }),
    output: page(linkShape),
    summary: { zh: '单据链接', en: 'Links to invoices and statements' },
  }),
  endpoint({
    id: 'link.create',
    method: 'POST',
    path: '/api/link/',
    access: 'user',
    /** `invoice`: its number; without it a statement, as `statement.get` takes it. `days`: 1 to 30, as many without it. */
    input: z.object({ invoice: text, ...whose, days: number }),
    /** `path` follows the address of the site; what is behind its mark is said here alone. */
    output: z.object({ id: int, path: z.string(), expires_time: int, title: z.string() }),
    summary: { zh: `生成单据链接（最长 ${linkDays} 天）`, en: `Make a link to a document (${linkDays} days at most)` },
  }),
  endpoint({
    id: 'link.revoke',
    method: 'DELETE',
    path: '/api/link/:id',
    access: 'user',
    input: z.object({ id }),
    output: z.unknown(),
    summary: { zh: '撤回单据链接', en: 'Revoke a link' },
  }),
  endpoint({
    id: 'link.open',
    method: 'POST',
    path: '/api/document-link',
    access: 'public',
    /** Anybody who has the link; it changes nothing but its count. */
    mutation: false,
    input: z.object({ secret: z.string() }),
    output: z.object({
      expires_time: int,
      invoice: z.nullable(invoiceShape),
      statement: z.nullable(statementShape),
    }),
    summary: { zh: '打开单据链接', en: 'Open a linked document' },
  }),
] as const;
