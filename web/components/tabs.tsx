/** Sides of a page or of a form, one in sight. */
import { Tab, TabGroup, TabList, TabPanel, TabPanels } from '@headlessui/react';
import type { ReactNode } from 'react';

export interface TabsProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly tabs: readonly (readonly [Value, string])[];
  readonly onChange: (value: Value) => void;
  /** What the side in sight holds. */
  readonly children: ReactNode;
}

export function Tabs<Value extends string>({ label, value, tabs, onChange, children }: TabsProps<Value>) {
  return (
    <TabGroup
      selectedIndex={tabs.findIndex(([tab]) => tab === value)}
      onChange={(index) => {
        const selected = tabs[index];
        if (selected !== undefined) onChange(selected[0]);
      }}
    >
      <TabList aria-label={label} className="flex gap-4 overflow-x-auto border-b border-line px-5">
        {tabs.map(([tab, text]) => (
          <Tab
            key={tab}
            className="h-9 flex-none border-b-2 border-transparent whitespace-nowrap text-ink-2 data-selected:border-accent data-selected:font-medium data-selected:text-ink-1 max-sm:h-11"
          >
            {text}
          </Tab>
        ))}
      </TabList>
      <TabPanels>
        {tabs.map(([tab]) => (
          <TabPanel key={tab}>{tab === value ? children : null}</TabPanel>
        ))}
      </TabPanels>
    </TabGroup>
  );
}
