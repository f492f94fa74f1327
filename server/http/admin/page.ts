/** Page numbers and sizes as consoles send them. */

/** 1-based; what lies before the first page is the first page. */
export const firstPage = (page: number | undefined): number => Math.max(1, page ?? 1);
export const pageSize = (size: number | undefined): number =>
  Math.min(100, size === undefined || size <= 0 ? 10 : size);
