/** Above the table: filters at the left, saved ones and the look of the table at the right. */
import type { ReactNode } from 'react';
import type { FilterPlace } from '../../../server/contract/endpoints/access-token.ts';
import type { Column } from './column.ts';
import type { Preferences } from './preferences.ts';
import { SavedFilters } from './saved-filters.tsx';
import { ViewOptions } from './view-options.tsx';

export interface BarProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly storeKey: string;
  readonly preferences: Preferences;
  readonly place: FilterPlace | undefined;
  readonly bar: ReactNode;
}

export function Bar<Row>({ columns, storeKey, preferences, place, bar }: BarProps<Row>) {
  if (bar === undefined && storeKey === '') return null;
  return (
    <div className="flex flex-wrap items-center gap-2 px-5 pb-3">
      {bar}
      {storeKey === '' ? null : (
        <span className="ml-auto flex gap-2 max-sm:hidden">
          {place === undefined ? null : <SavedFilters place={place} />}
          <ViewOptions columns={columns} preferences={preferences} />
        </span>
      )}
    </div>
  );
}
