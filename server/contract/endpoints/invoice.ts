/** Invoices of paid orders and credit notes. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { page } from '../entities.ts';
import { buyerShape, invoiceKinds, invoiceRowShape, invoiceShape } from '../invoice.ts';
import { number, oneOf, text, toggle } from './fields.ts';

const pagination = { p: number, page_size: number };

export const invoiceEndpoints = [
  endpoint({
    id: 'invoice.list_self',
    method: 'GET',
    path: '/api/invoice/self',
    access: 'user',
    input: z.object({ ...pagination, kind: oneOf(invoiceKinds), year: number }),
    output: page(invoiceRowShape),
    summary: { zh: '自己的发票', en: 'Own invoices and credit notes' },
  }),
  endpoint({
    id: 'invoice.list',
    method: 'GET',
    path: '/api/invoice/',
    access: 'admin',
    input: z.object({ ...pagination, keyword: text, user: number, kind: oneOf(invoiceKinds), year: number }),
    output: page(invoiceRowShape),
    summary: { zh: '发票', en: 'Invoices and credit notes' },
  }),
  endpoint({
    id: 'invoice.export',
    method: 'GET',
    path: '/api/invoice/export',
    access: 'user',
    /** The caller's own; those of others and `keyword` are for administrators. `all` = of everybody. */
    input: z.object({ keyword: text, user: number, kind: oneOf(invoiceKinds), year: number, all: toggle }),
    output: z.unknown(),
    envelope: 'file',
    summary: { zh: '导出发票（CSV）', en: 'Invoices and credit notes as CSV' },
  }),
  endpoint({
    id: 'invoice.buyer',
    method: 'GET',
    path: '/api/invoice/buyer',
    access: 'user',
    /** `user`: for administrators. */
    input: z.object({ user: number }),
    output: buyerShape,
    summary: { zh: '发票抬头', en: 'What invoices say of their buyer' },
  }),
  endpoint({
    id: 'invoice.save_buyer',
    method: 'PUT',
    path: '/api/invoice/buyer',
    access: 'user',
    /** What is absent stays as it is; invoices that were made keep what they say. */
    input: z.object({ user: number, name: text, address: text, tax_id: text }),
    output: buyerShape,
    summary: { zh: '修改发票抬头', en: 'Change what later invoices say of their buyer' },
  }),
  endpoint({
    id: 'invoice.get',
    method: 'GET',
    path: '/api/invoice/:number',
    access: 'user',
    input: z.object({ number: z.string() }),
    output: invoiceShape,
    summary: { zh: '查看发票', en: 'One invoice or credit note' },
  }),
] as const;
