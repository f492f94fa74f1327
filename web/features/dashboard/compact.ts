/** Large numbers, short. */
export const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
