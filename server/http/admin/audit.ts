/** The audit trail, for the super administrator. */
import type { HandlersOf } from './handlers-of.ts';

const pageSize = (size: number | undefined): number => Math.min(100, size === undefined || size <= 0 ? 10 : size);

export const auditHandlers: HandlersOf<'audit.list' | 'audit.verify'> = {
  'audit.list': ({ services, input }) => services.audit.page(Math.max(1, input.p ?? 1), pageSize(input.page_size)),
  'audit.verify': ({ services }) => services.audit.verify(),
};
