/** The chart, whose library is loaded when one is first drawn. */
import { lazy } from 'react';

export const LazyChart = lazy(async () => ({ default: (await import('./chart.tsx')).Chart }));
