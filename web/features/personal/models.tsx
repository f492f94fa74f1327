/** Models the reader may use; many fold away, and how is remembered. */

import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Card } from '../../components/card.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { useRead } from '../../lib/read.ts';

const initialCount = 10;
const key = 'modelsExpanded';

export function Models() {
  const { t } = useTranslation();
  const read = useRead({ queryKey: ['own-models'], queryFn: () => call('user.models') }).data;
  const models = read ?? [];
  const [all, setAll] = useState(() => localStorage.getItem(key) === 'true');
  const visible = all ? models : models.slice(0, initialCount);
  return (
    <Card title={t('personal.models')}>
      {read === undefined ? <Waiting /> : null}
      <ul className="flex flex-wrap gap-1.5">
        {visible.map((name) => (
          <li key={name}>
            <button
              type="button"
              className="min-h-6 rounded-1 bg-sunken px-1.5 text-[12px] text-ink-2 hover:bg-hover"
              onClick={() => copyOrShow(name)}
            >
              {name}
            </button>
          </li>
        ))}
      </ul>
      {models.length > initialCount ? (
        <button
          type="button"
          className="button mt-3"
          aria-expanded={all}
          onClick={() => {
            localStorage.setItem(key, String(!all));
            setAll(!all);
          }}
        >
          {all ? t('personal.fewer') : t('personal.more', { count: models.length - initialCount })}
        </button>
      ) : null}
    </Card>
  );
}
