// Made by `make reference` from the OpenAPI document; change the models there.

export type AlarmAnswer = {
  id: string;
  name: string;
  project_id: string;
  user_id: string;
  reservation: WatchedAnswer;
  below: number;
  duration: number;
  state: string;
  available: number | null;
  reason: string | null;
  created_at: string;
  changed_at: string | null;
  checked_at: string | null;
};

export type AlarmCreation = {
  reservation: WatchedReservation;
  below: number;
  duration?: number;
  name?: string;
};

export type AlarmList = {
  alarms: Array<AlarmAnswer>;
};

export type AllocationAnswer = {
  resource_id: string;
  reservations: Array<ReservedAnswer>;
};

export type AllocationList = {
  allocations: Array<AllocationAnswer>;
};

export type Arrival = {
  hosts?: Record<string, string>;
};

export type AskableAnswer = {
  property: string;
  values: Array<string>;
  left_out: number;
};

export type AskableList = {
  properties: Array<AskableAnswer>;
};

export type AskedAnswer = {
  resource_type: string;
};

export type AuditAnswer = {
  interval_seconds: number;
  began_at: string | null;
  ended_at: string | null;
  under_way: boolean;
  failure: string | null;
  findings: Array<FindingAnswer>;
};

export type AvailabilityAnswer = {
  resource_type: string;
  unit: string;
  from: string;
  to: string;
  total: number;
  held_back: number;
  throughout: number | null;
  steps: StepsAnswer;
};

export type BarLeasesAnswer = {
  id: Array<string>;
  name: Array<string | null>;
  status: Array<string | null>;
  start: Array<number | null>;
  end: Array<number | null>;
  whose: Array<string>;
  project: Array<string | null>;
  movable: Array<number | null>;
  degraded: Array<boolean>;
  at_risk: Array<boolean>;
};

export type BarsAnswer = {
  row: Array<number>;
  start: Array<number>;
  end: Array<number>;
  kind: Array<number>;
  lease: Array<number>;
  amount: Array<number>;
};

export type BudgetAmendment = {
  name?: string | null;
  amount?: string | null;
  end_date?: string | null;
  at_end?: "run" | "warn" | "end" | null;
};

export type BudgetAnswer = {
  id: string;
  project_id: string;
  user_id: string | null;
  name: string;
  unit: string;
  amount: string;
  encumbered: string;
  charged: string;
  left: string;
  start_date: string;
  end_date: string;
  at_end: string;
  created_at: string;
};

export type BudgetCreation = {
  project_id: string;
  user_id?: string | null;
  name: string;
  amount: string;
  start_date: string;
  end_date: string;
  at_end?: "run" | "warn" | "end" | null;
};

export type BudgetList = {
  budgets: Array<BudgetAnswer>;
};

export type CandidateAnswer = {
  id: string;
  name: string;
  attributes: Record<string, any>;
  up: boolean;
  enabled: boolean;
  pool: string;
  refused: string | null;
};

export type CandidateList = {
  candidates: Array<CandidateAnswer>;
};

export type CapacityAmendment = {
  start_date?: string | null;
  promise?: boolean | null;
  amount?: number | null;
  percent?: number | null;
};

export type CapacityChangeAnswer = {
  id: string;
  kind: string;
  name: string;
  project_id: string;
  user_id: string;
  start_date: string;
  end_date: string | null;
  first_date: string;
  delays: number;
  state: string;
  promise: boolean;
  amount: number | null;
  percent: number | null;
  resource_properties: string;
  hosts: Array<PlannedHostAnswer>;
  held: Array<string>;
  promised: Array<string>;
  moved: Array<string>;
  warned: Array<string>;
  created_at: string | null;
  updated_at: string | null;
};

export type CapacityChangeList = {
  changes: Array<CapacityChangeAnswer>;
};

export type ChangeAnswer = {
  id: string;
  time: string;
  type: string | null;
  by: string | null;
  user_id: string | null;
  whole: boolean;
  changes: Array<DifferenceAnswer>;
};

export type ChargeRow = {
  id: number;
  lease_id: string;
  reservation_id: string;
  project_id: string;
  user_id: string;
  resource_type: string;
  kind: string;
  price_list: string;
  from: string;
  to: string;
  units: number;
  hours: number;
  price: string;
  amount: string;
  booked_at: string;
  corrects: number | null;
  reason: string | null;
};

export type ChargesAnswer = {
  from: string;
  to: string;
  closed_until: string | null;
  unit: string;
  total: string;
  rows: Array<ChargeRow>;
};

export type ClaimCreation = {
  name: string;
  start_date?: string | null;
  end_date?: string | null;
  amount?: number | null;
  purpose?: string | null;
  dry_run?: boolean | null;
};

export type CodedAnswer = {
  values: Array<any>;
  index: Array<number>;
};

export type Coming = {
  from: string;
  amount: number;
};

export type CorrectionCreation = {
  charge_id: number;
  amount: string;
  reason: string;
};

export type CostAnswer = {
  unit: string;
  total: string | null;
  passed: string;
  more: string | null;
};

export type DeadLetterAnswer = {
  id: string;
  position: number;
  type: string;
  lease_id: string | null;
  died_at: string;
  error: string;
};

export type DeadLetterList = {
  dead_letters: Array<DeadLetterAnswer>;
};

export type DecreaseCreation = {
  name: string;
  start_date: string;
  end_date?: string | null;
  hosts: Array<string>;
  on_conflict?: "refuse" | "move" | "warn" | "force";
};

export type DefinitionAnswer = {
  id: string;
  resource_type: string;
  property_name: string;
  private: boolean;
  created_at: string | null;
  updated_at: string | null;
};

export type DifferenceAnswer = {
  part: string;
  id: string;
  key: string;
  before: any;
  after: any;
};

export type EndingBody = {
  on_end?: OnEnd | null;
  grace_seconds?: number | string | null;
  recycle_seconds?: number | string | null;
  before_end?: "" | "snapshot" | "suspend" | "shelve" | "email" | Array<"snapshot" | "suspend" | "shelve"> | null;
};

export type Error = {
  error_code?: number;
  error_message: string;
  error_name?: number | string;
  error?: number | Record<string, any>;
  code: string;
  field?: string;
  details?: Record<string, any>;
};

export type EventAnswer = {
  id: string;
  lease_id: string;
  event_type: string;
  time: string | null;
  status: string | null;
  created_at: string | null;
  updated_at: string | null;
};

export type EventOfTemplate = {
  event_type: string | null;
  event_date?: string | null;
};

export type EventRequest = {
  event_type?: string | null;
  event_date?: string | null;
};

export type FeedAnswer = {
  id: string;
  name: string;
  project_id: string;
  user_id: string;
  own: boolean;
  created_at: string;
  url?: string;
};

export type FeedCreation = {
  name?: string;
  own?: boolean;
};

export type FeedList = {
  feeds: Array<FeedAnswer>;
};

export type FilledHostAnswer = {
  id: string;
  state: string;
  granted_at: string;
  guaranteed_until: string | null;
  leaves_at: string | null;
  ended_at: string | null;
  reason: string | null;
  resource_id?: string;
  images?: Array<ImageAnswer>;
  shelved?: Array<ServerAnswer>;
};

export type FilledReservation = {
  resource_type: string;
};

export type FillerAnswer = {
  id: string;
  name: string;
  project_id: string;
  user_id: string;
  reservation: AskedAnswer;
  at_least: number;
  end_date: string | null;
  state: string;
  guaranteed_until: string | null;
  hosts: Array<FilledHostAnswer>;
  created_at: string;
  ended_at: string | null;
};

export type FillerCreation = {
  reservation: FilledReservation;
  at_least?: number;
  end_date?: string | null;
  name?: string;
};

export type FillerList = {
  fillers: Array<FillerAnswer>;
};

export type FindingAnswer = {
  kind: string;
  subject: string;
  resource_type: string | null;
  what: string;
  remedy: string;
  repair: string | null;
  repaired: string | null;
  found_at: string;
};

export type FlavorBody = {
  together?: string | null;
  apart?: string | null;
  flavor_id: string | number;
  amount: number | string;
  affinity: boolean | string | null;
};

export type FlexibleAmendment = {
  earliest?: string | null;
  latest?: string | null;
  duration_seconds?: number | null;
  frozen_seconds?: number | null;
  strategy?: "soonest" | "sleep" | null;
  hours?: Array<string> | null;
  time_zone?: string | null;
};

export type FlexibleAnswer = {
  id: string;
  state: string;
  earliest: string;
  latest: string;
  duration_seconds: number;
  frozen_seconds: number;
  strategy: string;
  hours: Array<string>;
  time_zone: string;
  frozen_at: string;
  moves: number;
  moved_at: string | null;
  pieces: Array<PieceAnswer>;
  lease: LeaseAnswer;
};

export type FlexibleCreation = {
  name: string;
  earliest?: string | null;
  latest: string;
  duration_seconds: number;
  piece_seconds?: number | null;
  frozen_seconds?: number | null;
  strategy?: "soonest" | "sleep";
  hours?: Array<string> | null;
  time_zone?: string;
  reservations?: Array<ReservationRequest> | null;
  heal_policy?: "replace" | "replace-before-start" | "ask" | "never" | "default" | null;
  reminder_seconds?: Array<number> | "default" | null;
  purpose?: string | null;
};

export type FlexibleList = {
  flexible_leases: Array<FlexibleAnswer>;
};

export type FloatingIpAnswer = {
  id: string;
  floating_network_id: string;
  subnet_id: string;
  floating_ip_address: string;
  reservable: boolean;
  created_at: string | null;
  updated_at: string | null;
  disabled?: boolean;
  disabled_reason?: string | null;
  projects?: Array<string> | null;
  owner?: string | null;
};

export type FloatingIpBody = {
  network_id: string | number;
  amount: number | string;
  required_floatingips?: Array<string>;
};

export type FloatingIpCreation = {
  floating_network_id: string;
  floating_ip_address: string;
  projects?: Array<string> | null;
  owner?: string | null;
};

export type FloatingIpDescription = {
  floating_network_id: string | number;
  floating_ip_address: string;
};

export type FloatingIpList = {
  floatingips: Array<FloatingIpAnswer>;
};

export type ForecastAnswer = {
  resource_type: string;
  unit: string;
  from: string;
  to: string;
  step_seconds: number;
  weeks: number;
  least_weeks: number;
  high_quantile: number;
  waiting_uncounted: boolean;
  coming: Array<Coming>;
  steps: ForecastSteps;
};

export type ForecastSteps = {
  from: Array<string>;
  capacity: Array<number>;
  promised: Array<number>;
  backlog: Array<number>;
  shortfall: Array<number>;
  expected_median: Array<number> | null;
  expected_high: Array<number> | null;
  additional_median: Array<number> | null;
  additional_high: Array<number> | null;
  shortfall_median: Array<number> | null;
  shortfall_high: Array<number> | null;
};

export type FoundReservation = {
  resource_type: string;
  amount: number;
};

export type FoundWindow = {
  alternative: number;
  start_date: string;
  end_date: string;
  reservations: Array<FoundReservation>;
  estimates?: Record<string, any>;
};

export type FreeRange = {
  start_date: string;
  end_date: string;
};

export type HealthAnswer = {
  status: string;
};

export type HeldAnswer = {
  reservation_id: string;
  resource_type: string;
  name: string | null;
  slots: number;
  demand: Record<string, number> | null;
  start_date: string;
  end_date: string;
  going_on: boolean;
  start_cause: string | null;
  end_cause: string | null;
};

export type HeldThen = {
  reservation_id: string;
  resource_type: string;
  name: string | null;
  slots: number;
  demand: Record<string, number> | null;
};

export type HolderAnswer = {
  reservation_id: string;
  resource_type: string;
  resources: Array<HoldingAnswer>;
};

export type HolderList = {
  reservations: Array<HolderAnswer>;
};

export type HoldingAnswer = {
  id: string | null;
  name: string | null;
  resource_type: string;
  health: string | null;
  left: boolean;
  substitute: boolean;
  slots: number;
  demand: Record<string, number> | null;
  start_date: string;
  end_date: string;
  capacity: Record<string, number>;
  attributes: Record<string, any>;
  properties: Record<string, string>;
  expected_at?: string | null;
};

export type HostAnswer = {
  id: string;
  hypervisor_hostname: string | null;
  hypervisor_type: string | null;
  hypervisor_version: number | null;
  vcpus: number | null;
  cpu_info: string | null;
  memory_mb: number | null;
  local_gb: number | null;
  service_name: string | null;
  availability_zone: string | null;
  reservable: boolean;
  status: null;
  trust_id: null;
  created_at: string | null;
  updated_at: string | null;
  disabled?: boolean | string;
  disabled_reason?: string | null;
  pool?: string;
  pool_reason?: string | null;
  held_for?: string | null;
  projects?: Array<string> | string | null;
  owner?: string | null;
};

export type HostBody = {
  together?: string | null;
  apart?: string | null;
  min: number | string;
  max: number | string;
  hypervisor_properties: string;
  resource_properties: string;
  before_end?: "" | "snapshot" | "suspend" | "shelve" | "email" | "default" | Array<"snapshot" | "suspend" | "shelve">;
};

export type HostChange = {
  disabled?: boolean | string | number | null;
  disabled_reason?: boolean | string | number | null;
  pool?: boolean | string | number | null;
  projects?: Array<string> | boolean | string | number | null;
  owner?: boolean | string | number | null;
};

export type HostCreation = {
  id?: string | number | null;
  name?: string | null;
  pool?: string | number | boolean;
  projects?: Array<string> | boolean | string | number | null;
  owner?: string | number | boolean | null;
};

export type HostDescription = {
  name: string | number;
  pool?: "reservation" | "shared";
};

export type HostList = {
  hosts: Array<HostAnswer>;
};

export type ImageAnswer = {
  server_id: string;
  server_name: string;
  image_id: string | null;
  status: string;
  reason: string | null;
};

export type InLineAnswer = {
  position: number;
  ahead: number;
  reason: string;
  expected_at: string | null;
  unknown: string | null;
  assumes: string;
  as_of: string;
};

export type IncreaseCreation = {
  name: string;
  start_date: string;
  end_date?: string | null;
  promise?: boolean;
  hosts: Array<string>;
  vcpus: number;
  memory_mb: number;
  local_gb?: number;
  availability_zone?: string;
  traits?: Array<string>;
  properties?: Record<string, any>;
};

export type InstanceBody = {
  together?: string | null;
  apart?: string | null;
  amount: number | string;
  vcpus: number | string;
  memory_mb: number | string;
  disk_gb: number | string;
  affinity: boolean | string | null;
  resource_properties: string;
};

export type LeaseAmendment = {
  name?: string | null;
  start_date?: string | null;
  end_date?: string | null;
  open_ended?: boolean | null;
  extend_seconds?: number | null;
  shorten_seconds?: number | null;
  start_later_seconds?: number | null;
  start_earlier_seconds?: number | null;
  before_end_date?: string | null;
  reservations?: Array<ReservationChange> | null;
  heal_policy?: "replace" | "replace-before-start" | "ask" | "never" | "default" | null;
  reminder_seconds?: Array<number> | "default" | null;
  purpose?: string | null;
  dry_run?: boolean | null;
  shared_with?: Array<string> | null;
};

export type LeaseAnswer = {
  id: string;
  name: string;
  user_id: string;
  project_id: string;
  trust_id: null;
  start_date: string;
  end_date: string;
  status: string;
  status_reason?: string | null;
  degraded: boolean;
  created_at: string | null;
  updated_at: string | null;
  heal_policy?: string;
  reminder_seconds?: Array<number> | string;
  at_risk?: boolean;
  open_ended?: boolean;
  shared_with?: Array<string>;
  published_offer?: string | null;
  parent_id?: string | null;
  notice_seconds?: number;
  taken_back_at?: string | null;
  deleted_at?: string;
  purpose?: string;
  type?: string;
  retries?: number | null;
  retry_seconds?: number | null;
  deadline?: string | null;
  tried?: number | null;
  reservations: Array<ReservationAnswer>;
  events: Array<EventAnswer>;
  in_line?: InLineAnswer;
  cost?: CostAnswer;
};

export type LeaseCreation = {
  name: string;
  start_date: string;
  end_date?: string;
  duration_seconds?: number | null;
  before_end_date?: string | null;
  reservations?: Array<ReservationRequest> | null;
  events?: Array<EventRequest> | null;
  heal_policy?: "replace" | "replace-before-start" | "ask" | "never" | "default" | null;
  reminder_seconds?: Array<number> | "default" | null;
  purpose?: string | null;
  template?: string | null;
  open_ended?: boolean | null;
  ready_within_seconds?: number | null;
  type?: "scheduled" | "immediate" | "retry" | "waitlist" | "best_effort" | null;
  retries?: number | null;
  retry_seconds?: number | null;
  deadline?: string | null;
  dry_run?: boolean | null;
  project_id?: string | null;
};

export type LeaseHistoryAnswer = {
  lease_id: string;
  project_id: string;
  deleted_at: string | null;
  changes: Array<ChangeAnswer>;
  held: Array<HeldAnswer> | null;
};

export type LeaseList = {
  leases: Array<LeaseAnswer>;
};

export type LinkAnswer = {
  rel: string;
  href: string;
};

export type LogEventAnswer = {
  id: string;
  position: number;
  type: string;
  time: string;
  project_id: string | null;
  lease_id: string | null;
  resource_type: string | null;
  resource_id: string | null;
  payload: Record<string, any>;
};

export type LogEventList = {
  events: Array<LogEventAnswer>;
  next: string;
};

export type MachineAnswer = {
  host_id: string;
  resource_type: string;
  hypervisor_hostname: string;
  power_class: string;
  address: string;
  kept_on: boolean;
  stage: string;
  since: string | null;
  ready_at: string | null;
  next_start: string | null;
  failure: string | null;
  failed_at: string | null;
};

export type MachineDescription = {
  power_class: string;
  address: string;
  kept_on?: boolean;
};

export type MachineList = {
  machines: Array<MachineAnswer>;
};

export type MaintenanceAnswer = {
  id: string;
  name: string;
  project_id: string;
  user_id: string;
  start_date: string;
  end_date: string;
  status: string;
  hosts: Array<string>;
  moved: Array<string>;
  warned: Array<string>;
  created_at: string | null;
  updated_at: string | null;
};

export type MaintenanceBody = {};

export type MaintenanceCreation = {
  name: string;
  start_date: string;
  end_date?: string;
  duration_seconds?: number | null;
  hosts: Array<string>;
  on_conflict?: "refuse" | "move" | "warn" | "force";
};

export type MaintenanceList = {
  maintenances: Array<MaintenanceAnswer>;
};

export type MarginAnswer = {
  power_class: string;
  wake_seconds: number;
};

export type MarginList = {
  margins: Array<MarginAnswer>;
};

export type NoShowBody = {
  no_show_seconds?: number | string | null;
};

export type NoticeFactorAnswer = {
  less_than_hours: number;
  factor: string;
};

export type OccurrenceAnswer = {
  start_date: string;
  end_date: string;
  planned: PlannedAnswer | null;
  lease_id: string | null;
  status: string | null;
  refused: RefusalAnswer | null;
};

export type OfferAnswer = {
  id: string;
  state: string;
  expires_at: string;
  lease: LeaseAnswer;
};

export type OfferCreation = {
  name: string;
  start_date: string;
  end_date?: string;
  duration_seconds?: number | null;
  before_end_date?: string | null;
  reservations?: Array<ReservationRequest> | null;
  events?: Array<EventRequest> | null;
  heal_policy?: "replace" | "replace-before-start" | "ask" | "never" | "default" | null;
  reminder_seconds?: Array<number> | "default" | null;
  purpose?: string | null;
  template?: string | null;
  hold_seconds?: number | null;
};

export type OfferList = {
  offers: Array<OfferAnswer>;
};

export type OnEnd = "delete" | "recycle" | "give_back";

export type OneAlarm = {
  alarm: AlarmAnswer;
};

export type OneAllocation = {
  allocation: AllocationAnswer;
};

export type OneAudit = {
  audit: AuditAnswer;
};

export type OneAvailability = {
  availability: AvailabilityAnswer;
};

export type OneBudget = {
  budget: BudgetAnswer;
};

export type OneCapacityChange = {
  change: CapacityChangeAnswer;
};

export type OneCharge = {
  charge: ChargeRow;
};

export type OneDefinition = {
  resource_property: DefinitionAnswer;
};

export type OneFeed = {
  feed: FeedAnswer;
};

export type OneFiller = {
  filler: FillerAnswer;
};

export type OneFlexible = {
  flexible_lease: FlexibleAnswer;
};

export type OneFloatingIp = {
  floatingip: FloatingIpAnswer;
};

export type OneForecast = {
  forecast: ForecastAnswer;
};

export type OneHost = {
  host: HostAnswer;
};

export type OneLease = {
  lease: LeaseAnswer;
  reservations?: Array<HolderAnswer>;
  warnings?: Array<WarningAnswer>;
  held?: Array<HeldThen> | null;
};

export type OneMachine = {
  machine: MachineAnswer;
};

export type OneMaintenance = {
  maintenance: MaintenanceAnswer;
};

export type OneOffer = {
  offer: OfferAnswer;
  reservations?: Array<HolderAnswer>;
};

export type OnePublishedOffer = {
  published_offer: PublishedOfferAnswer;
};

export type OneResource = {
  resource: ResourceAnswer;
};

export type OneSeries = {
  series: SeriesAnswer;
};

export type OneSubLease = {
  sub_lease: SubLeaseAnswer;
};

export type OneSubscription = {
  subscription: SubscriptionAnswer;
};

export type OneTemplate = {
  template: TemplateAnswer;
};

export type OneTimeline = {
  timeline: TimelineAnswer;
};

export type OneUsage = {
  usage: UsageAnswer;
};

export type OwnedResourceAnswer = {
  id: string;
  resource_type: string;
  name: string;
  owner: string;
  projects: Array<string>;
  capacity: Record<string, number>;
  reservable: boolean;
  health: string;
  leases: Array<OwnedUseAnswer>;
};

export type OwnedResourceList = {
  owned_resources: Array<OwnedResourceAnswer>;
};

export type OwnedUseAnswer = {
  id: string;
  project_id: string;
  start_date: string;
  end_date: string;
  status: string;
};

export type PieceAnswer = {
  id: string;
  start_date: string;
  end_date: string;
  status: string;
};

export type PlannedAnswer = {
  start_date: string;
  end_date: string;
};

export type PlannedHostAnswer = {
  id: string;
  name: string;
  arrived: boolean;
  failure: string | null;
};

export type PowerReport = {
  report: Array<SavedAnswer>;
};

export type PriceListAnswer = {
  name: string;
  from: string;
  until: string | null;
  time_zone: string;
  rules: Array<PriceRuleAnswer>;
  times: Array<TimeFactorAnswer>;
  notices: Array<NoticeFactorAnswer>;
};

export type PriceLists = {
  unit: string | null;
  places: number;
  price_lists: Array<PriceListAnswer>;
};

export type PriceRuleAnswer = {
  resource_type: string;
  properties: string;
  hour: string;
  vcpu_hour: string;
  memory_gib_hour: string;
  used: string;
  flat: string;
  given_up: string;
  filler: string;
};

export type PrivacyChange = {
  private: boolean;
};

export type PropertyAnswer = {
  property: string;
  private?: boolean;
  values?: Array<string>;
};

export type PropertyList = {
  resource_properties: Array<PropertyAnswer>;
};

export type PublishedOfferAnswer = {
  id: string;
  name: string;
  status: string;
  resource_type: string | null;
  resource_id: string | null;
  resource_name: string | null;
  capacity: Record<string, number>;
  lease_id: string | null;
  amount: number | null;
  left: number | null;
  project_id: string | null;
  user_id: string | null;
  for_project_id: string | null;
  notice_seconds: number;
  start_date: string;
  end_date: string;
  created_at: string;
  free?: Array<FreeRange>;
};

export type PublishedOfferCreation = {
  name: string;
  resource_type: string;
  resource_id: string;
  start_date?: string;
  end_date: string;
  for_project_id?: string | null;
  notice_seconds?: number;
};

export type PublishedOfferList = {
  published_offers: Array<PublishedOfferAnswer>;
};

export type RefusalAnswer = {
  code: string;
  error_message: string;
  details: Record<string, any>;
};

export type RefusalCountAnswer = {
  hour: string;
  operation: string;
  code: string;
  resource_type: string | null;
  missing: number;
  refused: number;
  projects: number;
};

export type RefusalList = {
  refusals: Array<RefusalCountAnswer>;
};

export type RefusedAlternative = {
  alternative: number;
  error_message: string;
  code: string;
  details: Record<string, any>;
};

export type RegionAnswer = {
  name: string;
  endpoint: string;
  here: boolean;
};

export type RegionAvailability = {
  region: string;
  endpoint: string;
  availability: AvailabilityAnswer | null;
  error_message: string | null;
};

export type RegionAvailabilityList = {
  regions: Array<RegionAvailability>;
};

export type RegionList = {
  regions: Array<RegionAnswer>;
};

export type RegionSearch = {
  reservations?: Array<ReservationRequest> | null;
  alternatives?: Array<Array<ReservationRequest>> | null;
  duration_seconds?: number;
  shortest_seconds?: number | null;
  start_date?: string;
  latest_start_date?: string | null;
  end_date?: string | null;
  limit?: number;
  project_id?: string | null;
  template?: string | null;
  regions?: Array<string> | null;
};

export type RegionWindows = {
  region: string;
  endpoint: string;
  windows: Array<FoundWindow>;
  refused: Array<RefusedAlternative>;
  error_message: string | null;
};

export type RegionWindowsList = {
  regions: Array<RegionWindows>;
};

export type Replay = {
  event_id?: string | null;
};

export type ReservationAnswer = {
  id: string;
  lease_id: string;
  resource_id: string;
  resource_type: string;
  status: string;
  missing_resources: boolean;
  resources_changed: boolean;
  created_at: string | null;
  updated_at: string | null;
  no_show_seconds?: number;
  on_end?: string;
  grace_seconds?: number;
  recycle_seconds?: number;
  default_properties?: string | null;
  default_properties_applied?: boolean | null;
  images?: Array<ImageAnswer>;
  suspended?: Array<SuspendedAnswer>;
  shelved?: Array<ShelvedAnswer>;
};

export type ReservationChange = {
  id?: string | null;
  resource_type?: any;
};

export type ReservationOfEach = Record<string, any>;

export type ReservationRequest = FlavorBody & {
  resource_type: "flavor:instance";
} & EndingBody & NoShowBody | MaintenanceBody & {
  resource_type: "maintenance:host";
} | HostBody & {
  resource_type: "physical:host";
} & EndingBody & NoShowBody | FloatingIpBody & {
  resource_type: "virtual:floatingip";
} | InstanceBody & {
  resource_type: "virtual:instance";
} & EndingBody & NoShowBody;

export type ReserveCreation = {
  name: string;
  start_date?: string;
  end_date?: string | null;
  resource_properties?: string;
  amount?: number | null;
  percent?: number | null;
};

export type ReservedAnswer = {
  id: string;
  lease_id: string;
  start_date: string;
  end_date: string;
};

export type ResourceAnswer = {
  id: string;
  resource_type: string;
  name: string;
  attributes: Record<string, any>;
  properties: Record<string, string>;
  capacity: Record<string, number>;
  traits: Array<string>;
  reservable: boolean;
  health: string;
  created_at: string | null;
  updated_at: string | null;
  disabled: boolean;
  disabled_reason: string | null;
  pool: string;
  pool_reason: string | null;
  held_for: string | null;
  projects?: Array<string> | null;
  owner?: string | null;
};

export type ResourceChange = {
  properties?: Record<string, string | number | boolean | null>;
  disabled?: boolean;
  disabled_reason?: string | null;
  pool?: "reservation" | "shared";
  projects?: Array<string> | null;
  owner?: string | null;
};

export type ResourceCreation = ({
  properties?: Record<string, string | number | boolean>;
  projects?: Array<string> | null;
  owner?: string | null;
}) & (HostDescription | FloatingIpDescription);

export type ResourceList = {
  resources: Array<ResourceAnswer>;
};

export type ResourceTypeAnswer = {
  resource_type: string;
  noun: string;
  enrolled: boolean;
};

export type ResourceTypeList = {
  resource_types: Array<ResourceTypeAnswer>;
};

export type RowTypeAnswer = {
  resource_type: string;
  identified: boolean;
  cleaning_seconds: number;
  lead_seconds: number;
};

export type RowsAnswer = {
  id: Array<string>;
  name: Array<string | null>;
  type: Array<number>;
  state: Array<number>;
  capacity: Record<string, Array<number | null>>;
  properties: Record<string, CodedAnswer>;
  reason: CodedAnswer;
};

export type SavedAnswer = {
  day: string;
  power_class: string;
  zone: string;
  hours_off: number;
  kwh: number | null;
  wakes: number;
  failed_wakes: number;
  called_off: number;
  late_starts: number;
  delayed_requests: number;
  delay_seconds: number;
};

export type SeriesAmendment = {
  name?: string | null;
  start_date?: string | null;
  end_date?: string | null;
  reservations?: Array<ReservationOfEach> | null;
  purpose?: string | null;
};

export type SeriesAnswer = {
  id: string;
  name: string;
  project_id: string;
  user_id: string;
  rule: string;
  time_zone: string;
  created_at: string;
  updated_at: string | null;
  purpose?: string;
  together?: Record<string, any>;
  occurrences: Array<OccurrenceAnswer>;
};

export type SeriesCreation = {
  name: string;
  start_date: string;
  end_date?: string;
  duration_seconds?: number | null;
  rule: string;
  time_zone?: string;
  reservations?: Array<ReservationRequest> | null;
  heal_policy?: "replace" | "replace-before-start" | "ask" | "never" | "default" | null;
  reminder_seconds?: Array<number> | "default" | null;
  purpose?: string | null;
  template?: string | null;
};

export type SeriesList = {
  series: Array<SeriesAnswer>;
};

export type ServerAnswer = {
  server_id: string;
  server_name: string;
  status: string;
  reason: string | null;
};

export type ShelvedAnswer = {
  server_id: string;
  server_name: string;
  status: string;
  reason: string | null;
};

export type SomeCharges = {
  charges: ChargesAnswer;
};

export type StepsAnswer = {
  from: Array<string>;
  free: Array<number>;
  reserved: Array<number>;
};

export type SubLeaseAnswer = {
  id: string;
  parent_id: string;
  project_id: string;
  start_date: string;
  end_date: string;
  status: string;
  notice_seconds: number;
  taken_back_at: string | null;
  amount: number;
};

export type SubLeaseCreation = {
  name: string;
  project_id: string;
  end_date?: string | null;
  reservation_id?: string | null;
  hosts?: Array<string> | null;
  amount?: number | null;
  notice_seconds?: number;
};

export type SubLeaseList = {
  sub_leases: Array<SubLeaseAnswer>;
};

export type SubOfferCreation = {
  name: string;
  amount: number;
  start_date?: string;
  end_date?: string | null;
  reservation_id?: string | null;
  for_project_id?: string | null;
  notice_seconds?: number;
};

export type SubscriptionAnswer = {
  id: string;
  project_id: string;
  user_id: string;
  channel: string;
  target: string;
  event_types: Array<string>;
  lease_id: string | null;
  all_projects: boolean;
  own: boolean;
  status: string;
  position: number;
  failures: number;
  failing_since: string | null;
  next_try: string | null;
  last_error: string | null;
  created_at: string;
  secret?: string;
};

export type SubscriptionCreation = {
  target: string;
  channel?: "webhook" | "email";
  event_types?: Array<"budget.ends_soon" | "budget.nearly_used" | "capacity.low" | "capacity.restored" | "filler.ended" | "filler.guarantee" | "filler.leaves" | "lease.at_risk" | "lease.budget_ended" | "lease.budget_ends" | "lease.budget_restored" | "lease.capacity_late" | "lease.create" | "lease.degraded" | "lease.delete" | "lease.deleting" | "lease.ending" | "lease.ends_soon" | "lease.event.before_end_lease" | "lease.event.before_end_lease.stop" | "lease.event.end_lease" | "lease.event.start_lease" | "lease.granted" | "lease.heal_policy" | "lease.heal_question" | "lease.healed" | "lease.lent" | "lease.maintenance" | "lease.moved" | "lease.no_show_released" | "lease.no_show_warned" | "lease.own_event" | "lease.purpose" | "lease.released" | "lease.reminders" | "lease.renamed" | "lease.repair" | "lease.rescheduled" | "lease.restored" | "lease.returned" | "lease.safe" | "lease.starting" | "lease.swapped" | "lease.taken_back" | "lease.timedout" | "lease.update" | "lease.waiting" | "lease.warning.done" | "lease.warning.failed" | "resource.changed" | "resource.disabled" | "resource.draw_failed" | "resource.drawn" | "resource.enabled" | "resource.enrolled" | "resource.given_back" | "resource.health" | "resource.removed" | "server.ends_soon" | "server.stays">;
  lease_id?: string | null;
  all_projects?: boolean;
  own?: boolean;
};

export type SubscriptionList = {
  subscriptions: Array<SubscriptionAnswer>;
};

export type SuspendedAnswer = {
  server_id: string;
  server_name: string;
  status: string;
  reason: string | null;
};

export type SwapRequest = {
  server?: string | null;
  host?: string | null;
  servers?: Array<string> | null;
};

export type TemplateAmendment = {
  duration_seconds?: number | null;
  open_ended?: boolean | null;
  reservations?: Array<ReservationRequest> | null;
  events?: Array<EventRequest> | null;
  heal_policy?: "replace" | "replace-before-start" | "ask" | "never" | "default" | null;
  reminder_seconds?: Array<number> | "default" | null;
  type?: "scheduled" | "immediate" | "retry" | "waitlist" | "best_effort" | null;
  retries?: number | null;
  retry_seconds?: number | null;
  purpose?: string | null;
  name?: string | null;
  description?: string | null;
  public?: boolean | null;
};

export type TemplateAnswer = {
  id: string;
  name: string;
  description: string;
  public: boolean;
  project_id: string | null;
  user_id: string | null;
  created_at: string;
  updated_at: string | null;
  duration_seconds: number | null;
  open_ended: boolean | null;
  reservations: Array<Record<string, any>> | null;
  events: Array<EventOfTemplate> | null;
  heal_policy: string | null;
  reminder_seconds: Array<number> | string | null;
  type: string | null;
  retries: number | null;
  retry_seconds: number | null;
  purpose: string | null;
};

export type TemplateCreation = {
  duration_seconds?: number | null;
  open_ended?: boolean | null;
  reservations?: Array<ReservationRequest> | null;
  events?: Array<EventRequest> | null;
  heal_policy?: "replace" | "replace-before-start" | "ask" | "never" | "default" | null;
  reminder_seconds?: Array<number> | "default" | null;
  type?: "scheduled" | "immediate" | "retry" | "waitlist" | "best_effort" | null;
  retries?: number | null;
  retry_seconds?: number | null;
  purpose?: string | null;
  name: string;
  description?: string;
  public?: boolean;
};

export type TemplateList = {
  templates: Array<TemplateAnswer>;
};

export type TimeFactorAnswer = {
  hours: Array<string>;
  factor: string;
};

export type TimelineAnswer = {
  from: string;
  to: string;
  now: string;
  as_of: string | null;
  cursor: string;
  types: Array<RowTypeAnswer>;
  states: Array<string>;
  kinds: Array<string>;
  rows: RowsAnswer;
  bars: BarsAnswer;
  substitutes: Array<number>;
  amounts: Record<string, Array<number>>;
  leases: BarLeasesAnswer;
  unplaced: UnplacedAnswer;
  next: string | null;
};

export type UnplacedAnswer = {
  lease: Array<number>;
  resource_type: Array<string>;
  amount: Array<number>;
};

export type UsageAnswer = {
  from: string;
  to: string;
  group_by: string;
  precision_seconds: number | null;
  rows: Array<UsageRow>;
};

export type UsageRow = {
  resource_type: string | null;
  unit: string | null;
  project_id: string | null;
  user_id: string | null;
  lease_id: string | null;
  resource: string | null;
  day: string | null;
  promised: number | null;
  held: number;
  late: number;
  active: number;
  used: number | null;
  idle: number | null;
  no_show: number | null;
  missing: number | null;
  given_up: number | null;
  lent: number | null;
  refused: number | null;
};

export type VersionAnswer = {
  id: string;
  status: string;
  min_version: string;
  max_version: string;
  links: Array<LinkAnswer>;
};

export type VersionList = {
  versions: Array<VersionAnswer>;
};

export type WarningAnswer = {
  code: string;
  message: string;
  details: Record<string, any>;
};

export type WatchedAnswer = {
  resource_type: string;
};

export type WatchedReservation = {
  resource_type: string;
};

export type WindowList = {
  windows: Array<FoundWindow>;
  refused: Array<RefusedAlternative>;
};

export type WindowSearch = {
  reservations?: Array<ReservationRequest> | null;
  alternatives?: Array<Array<ReservationRequest>> | null;
  duration_seconds?: number;
  shortest_seconds?: number | null;
  start_date?: string;
  latest_start_date?: string | null;
  end_date?: string | null;
  limit?: number;
  project_id?: string | null;
  template?: string | null;
};

export interface Operations {
  "GET /": {
    path: {};
    query: {};
    body: undefined;
    answer: VersionList;
  };
  "GET /healthcheck": {
    path: {};
    query: {};
    body: undefined;
    answer: HealthAnswer;
  };
  "GET /v1/alarms": {
    path: {};
    query: {
      all_projects?: boolean;
      limit?: number;
      marker?: string;
      sort?: string;
      name?: string;
      state?: string;
    };
    body: undefined;
    answer: AlarmList;
  };
  "POST /v1/alarms": {
    path: {};
    query: {};
    body: AlarmCreation;
    answer: OneAlarm;
  };
  "DELETE /v1/alarms/{alarm_id}": {
    path: {
      alarm_id: string;
    };
    query: {};
    body: undefined;
    answer: void;
  };
  "GET /v1/alarms/{alarm_id}": {
    path: {
      alarm_id: string;
    };
    query: {};
    body: undefined;
    answer: OneAlarm;
  };
  "GET /v1/audit": {
    path: {};
    query: {};
    body: undefined;
    answer: OneAudit;
  };
  "POST /v1/audit": {
    path: {};
    query: {};
    body: undefined;
    answer: OneAudit;
  };
  "GET /v1/availability": {
    path: {};
    query: {
      resource_type?: string;
      from?: string;
      to?: string;
      resource_id?: string;
    } & Record<string, any>;
    body: undefined;
    answer: OneAvailability;
  };
  "GET /v1/availability/properties": {
    path: {};
    query: {
      resource_type?: string;
    };
    body: undefined;
    answer: AskableList;
  };
  "POST /v1/availability/search": {
    path: {};
    query: {};
    body: WindowSearch;
    answer: WindowList;
  };
  "GET /v1/budgets": {
    path: {};
    query: {
      all_projects?: boolean;
      limit?: number;
      marker?: string;
      sort?: string;
      name?: string;
    };
    body: undefined;
    answer: BudgetList;
  };
  "POST /v1/budgets": {
    path: {};
    query: {};
    body: BudgetCreation;
    answer: OneBudget;
  };
  "DELETE /v1/budgets/{budget_id}": {
    path: {
      budget_id: string;
    };
    query: {};
    body: undefined;
    answer: void;
  };
  "GET /v1/budgets/{budget_id}": {
    path: {
      budget_id: string;
    };
    query: {};
    body: undefined;
    answer: OneBudget;
  };
  "PUT /v1/budgets/{budget_id}": {
    path: {
      budget_id: string;
    };
    query: {};
    body: BudgetAmendment;
    answer: OneBudget;
  };
  "GET /v1/capacity/changes": {
    path: {};
    query: {};
    body: undefined;
    answer: CapacityChangeList;
  };
  "DELETE /v1/capacity/changes/{change_id}": {
    path: {
      change_id: string;
    };
    query: {
      on_conflict?: "refuse" | "move" | "warn" | "force";
    };
    body: undefined;
    answer: void;
  };
  "GET /v1/capacity/changes/{change_id}": {
    path: {
      change_id: string;
    };
    query: {};
    body: undefined;
    answer: OneCapacityChange;
  };
  "PUT /v1/capacity/changes/{change_id}": {
    path: {
      change_id: string;
    };
    query: {};
    body: CapacityAmendment;
    answer: OneCapacityChange;
  };
  "POST /v1/capacity/changes/{change_id}/arrived": {
    path: {
      change_id: string;
    };
    query: {};
    body: Arrival;
    answer: OneCapacityChange;
  };
  "POST /v1/capacity/decreases": {
    path: {};
    query: {};
    body: DecreaseCreation;
    answer: OneCapacityChange;
  };
  "POST /v1/capacity/increases": {
    path: {};
    query: {};
    body: IncreaseCreation;
    answer: OneCapacityChange;
  };
  "POST /v1/capacity/reserves": {
    path: {};
    query: {};
    body: ReserveCreation;
    answer: OneCapacityChange;
  };
  "GET /v1/charges": {
    path: {};
    query: {
      from?: string;
      to?: string;
      format?: "json" | "csv" | "focus";
      project_id?: string;
      lease_id?: string;
      all_projects?: boolean;
    };
    body: undefined;
    answer: SomeCharges;
  };
  "POST /v1/charges/corrections": {
    path: {};
    query: {};
    body: CorrectionCreation;
    answer: OneCharge;
  };
  "GET /v1/events": {
    path: {};
    query: {
      after?: string;
      limit?: number;
      wait?: number;
      lease_id?: string;
      all_projects?: boolean;
      type?: string;
      from?: string;
    };
    body: undefined;
    answer: LogEventList;
  };
  "GET /v1/feeds": {
    path: {};
    query: {
      all_projects?: boolean;
      limit?: number;
      marker?: string;
      sort?: string;
      name?: string;
      own?: boolean;
    };
    body: undefined;
    answer: FeedList;
  };
  "POST /v1/feeds": {
    path: {};
    query: {};
    body: FeedCreation;
    answer: OneFeed;
  };
  "DELETE /v1/feeds/{feed_id}": {
    path: {
      feed_id: string;
    };
    query: {};
    body: undefined;
    answer: void;
  };
  "GET /v1/feeds/{feed_id}": {
    path: {
      feed_id: string;
    };
    query: {};
    body: undefined;
    answer: OneFeed;
  };
  "GET /v1/feeds/{token}.ics": {
    path: {
      token: string;
    };
    query: {};
    body: undefined;
    answer: void;
  };
  "GET /v1/fillers": {
    path: {};
    query: {
      all_projects?: boolean;
      limit?: number;
      marker?: string;
      sort?: string;
      name?: string;
      state?: string;
    };
    body: undefined;
    answer: FillerList;
  };
  "POST /v1/fillers": {
    path: {};
    query: {};
    body: FillerCreation;
    answer: OneFiller;
  };
  "DELETE /v1/fillers/{filler_id}": {
    path: {
      filler_id: string;
    };
    query: {};
    body: undefined;
    answer: OneFiller;
  };
  "GET /v1/fillers/{filler_id}": {
    path: {
      filler_id: string;
    };
    query: {};
    body: undefined;
    answer: OneFiller;
  };
  "GET /v1/flexible-leases": {
    path: {};
    query: {
      all_projects?: boolean;
      limit?: number;
      marker?: string;
      sort?: string;
    };
    body: undefined;
    answer: FlexibleList;
  };
  "POST /v1/flexible-leases": {
    path: {};
    query: {};
    body: FlexibleCreation;
    answer: OneFlexible;
  };
  "DELETE /v1/flexible-leases/{flexible_id}": {
    path: {
      flexible_id: string;
    };
    query: {};
    body: undefined;
    answer: void;
  };
  "GET /v1/flexible-leases/{flexible_id}": {
    path: {
      flexible_id: string;
    };
    query: {};
    body: undefined;
    answer: OneFlexible;
  };
  "PUT /v1/flexible-leases/{flexible_id}": {
    path: {
      flexible_id: string;
    };
    query: {};
    body: FlexibleAmendment;
    answer: OneFlexible;
  };
  "GET /v1/floatingips": {
    path: {};
    query: {
      limit?: number;
      marker?: string;
      sort?: string;
      floating_ip_address?: string;
      floating_network_id?: string;
      subnet_id?: string;
      reservable?: boolean;
      disabled?: boolean;
    };
    body: undefined;
    answer: FloatingIpList;
  };
  "POST /v1/floatingips": {
    path: {};
    query: {};
    body: FloatingIpCreation;
    answer: OneFloatingIp;
  };
  "DELETE /v1/floatingips/{floatingip_id}": {
    path: {
      floatingip_id: string;
    };
    query: {};
    body: undefined;
    answer: void;
  };
  "GET /v1/floatingips/{floatingip_id}": {
    path: {
      floatingip_id: string;
    };
    query: {};
    body: undefined;
    answer: OneFloatingIp;
  };
  "GET /v1/forecast": {
    path: {};
    query: {
      resource_type?: string;
      from?: string;
      to?: string;
      step_seconds?: number;
      weeks?: number;
    };
    body: undefined;
    answer: OneForecast;
  };
  "GET /v1/lease-templates": {
    path: {};
    query: {
      all_projects?: boolean;
      limit?: number;
      marker?: string;
      sort?: string;
      name?: string;
      public?: boolean;
    };
    body: undefined;
    answer: TemplateList;
  };
  "POST /v1/lease-templates": {
    path: {};
    query: {};
    body: TemplateCreation;
    answer: OneTemplate;
  };
  "DELETE /v1/lease-templates/{template_id}": {
    path: {
      template_id: string;
    };
    query: {};
    body: undefined;
    answer: void;
  };
  "GET /v1/lease-templates/{template_id}": {
    path: {
      template_id: string;
    };
    query: {};
    body: undefined;
    answer: OneTemplate;
  };
  "PUT /v1/lease-templates/{template_id}": {
    path: {
      template_id: string;
    };
    query: {};
    body: TemplateAmendment;
    answer: OneTemplate;
  };
  "GET /v1/leases": {
    path: {};
    query: {
      limit?: number;
      marker?: string;
      name?: string;
      status?: string;
      ends_after?: string;
      starts_before?: string;
      sort?: string;
      purpose?: string;
      deleted?: boolean;
    };
    body: undefined;
    answer: LeaseList;
  };
  "POST /v1/leases": {
    path: {};
    query: {};
    body: LeaseCreation;
    answer: OneLease;
  };
  "DELETE /v1/leases/{lease_id}": {
    path: {
      lease_id: string;
    };
    query: {};
    body: undefined;
    answer: void;
  };
  "GET /v1/leases/{lease_id}": {
    path: {
      lease_id: string;
    };
    query: {
      as_of?: string;
    };
    body: undefined;
    answer: OneLease;
  };
  "PUT /v1/leases/{lease_id}": {
    path: {
      lease_id: string;
    };
    query: {};
    body: LeaseAmendment;
    answer: OneLease;
  };
  "POST /v1/leases/{lease_id}/heal": {
    path: {
      lease_id: string;
    };
    query: {};
    body: undefined;
    answer: OneLease;
  };
  "GET /v1/leases/{lease_id}/history": {
    path: {
      lease_id: string;
    };
    query: {
      limit?: number;
      marker?: string;
    };
    body: undefined;
    answer: LeaseHistoryAnswer;
  };
  "POST /v1/leases/{lease_id}/published-offers": {
    path: {
      lease_id: string;
    };
    query: {};
    body: SubOfferCreation;
    answer: OnePublishedOffer;
  };
  "DELETE /v1/leases/{lease_id}/reservations/{reservation_id}": {
    path: {
      lease_id: string;
      reservation_id: string;
    };
    query: {};
    body: undefined;
    answer: void;
  };
  "DELETE /v1/leases/{lease_id}/reservations/{reservation_id}/resources/{resource_id}": {
    path: {
      lease_id: string;
      reservation_id: string;
      resource_id: string;
    };
    query: {};
    body: undefined;
    answer: void;
  };
  "GET /v1/leases/{lease_id}/resources": {
    path: {
      lease_id: string;
    };
    query: {};
    body: undefined;
    answer: HolderList;
  };
  "GET /v1/leases/{lease_id}/sub-leases": {
    path: {
      lease_id: string;
    };
    query: {};
    body: undefined;
    answer: SubLeaseList;
  };
  "POST /v1/leases/{lease_id}/sub-leases": {
    path: {
      lease_id: string;
    };
    query: {};
    body: SubLeaseCreation;
    answer: OneSubLease;
  };
  "DELETE /v1/leases/{lease_id}/sub-leases/{sub_lease_id}": {
    path: {
      lease_id: string;
      sub_lease_id: string;
    };
    query: {};
    body: undefined;
    answer: void;
  };
  "POST /v1/leases/{lease_id}/swap": {
    path: {
      lease_id: string;
    };
    query: {};
    body: SwapRequest;
    answer: OneLease;
  };
  "GET /v1/maintenances": {
    path: {};
    query: {
      limit?: number;
      marker?: string;
      name?: string;
      status?: string;
      ends_after?: string;
      starts_before?: string;
      sort?: string;
    };
    body: undefined;
    answer: MaintenanceList;
  };
  "POST /v1/maintenances": {
    path: {};
    query: {};
    body: MaintenanceCreation;
    answer: OneMaintenance;
  };
  "DELETE /v1/maintenances/{maintenance_id}": {
    path: {
      maintenance_id: string;
    };
    query: {};
    body: undefined;
    answer: void;
  };
  "GET /v1/maintenances/{maintenance_id}": {
    path: {
      maintenance_id: string;
    };
    query: {};
    body: undefined;
    answer: OneMaintenance;
  };
  "GET /v1/offers": {
    path: {};
    query: {
      all_projects?: boolean;
      limit?: number;
      marker?: string;
      sort?: string;
    };
    body: undefined;
    answer: OfferList;
  };
  "POST /v1/offers": {
    path: {};
    query: {};
    body: OfferCreation;
    answer: OneOffer;
  };
  "DELETE /v1/offers/{offer_id}": {
    path: {
      offer_id: string;
    };
    query: {};
    body: undefined;
    answer: void;
  };
  "GET /v1/offers/{offer_id}": {
    path: {
      offer_id: string;
    };
    query: {};
    body: undefined;
    answer: OneOffer;
  };
  "POST /v1/offers/{offer_id}/accept": {
    path: {
      offer_id: string;
    };
    query: {};
    body: undefined;
    answer: OneLease;
  };
  "GET /v1/openapi.json": {
    path: {};
    query: {};
    body: undefined;
    answer: Record<string, any>;
  };
  "GET /v1/os-hosts": {
    path: {};
    query: {
      limit?: number;
      marker?: string;
      sort?: string;
      hypervisor_hostname?: string;
      hypervisor_type?: string;
      availability_zone?: string;
      pool?: string;
      reservable?: boolean;
      disabled?: boolean;
    };
    body: undefined;
    answer: HostList;
  };
  "POST /v1/os-hosts": {
    path: {};
    query: {};
    body: HostCreation;
    answer: OneHost;
  };
  "GET /v1/os-hosts/allocations": {
    path: {};
    query: {
      lease_id?: string;
      reservation_id?: string;
      limit?: number;
      marker?: string;
    };
    body: undefined;
    answer: AllocationList;
  };
  "GET /v1/os-hosts/properties": {
    path: {};
    query: {
      detail?: string;
      all?: string;
    };
    body: undefined;
    answer: PropertyList;
  };
  "PATCH /v1/os-hosts/properties/{name}": {
    path: {
      name: string;
    };
    query: {};
    body: PrivacyChange;
    answer: OneDefinition;
  };
  "DELETE /v1/os-hosts/{host_id}": {
    path: {
      host_id: string;
    };
    query: {};
    body: undefined;
    answer: void;
  };
  "GET /v1/os-hosts/{host_id}": {
    path: {
      host_id: string;
    };
    query: {};
    body: undefined;
    answer: OneHost;
  };
  "PUT /v1/os-hosts/{host_id}": {
    path: {
      host_id: string;
    };
    query: {};
    body: HostChange;
    answer: OneHost;
  };
  "GET /v1/os-hosts/{host_id}/allocation": {
    path: {
      host_id: string;
    };
    query: {
      lease_id?: string;
      reservation_id?: string;
    };
    body: undefined;
    answer: OneAllocation;
  };
  "DELETE /v1/owned-leases/{owned_id}": {
    path: {
      owned_id: string;
    };
    query: {};
    body: undefined;
    answer: void;
  };
  "GET /v1/owned-resources": {
    path: {};
    query: {
      all_projects?: boolean;
      limit?: number;
      marker?: string;
      sort?: string;
      name?: string;
      health?: string;
      reservable?: boolean;
    };
    body: undefined;
    answer: OwnedResourceList;
  };
  "GET /v1/power/hosts": {
    path: {};
    query: {};
    body: undefined;
    answer: MachineList;
  };
  "DELETE /v1/power/hosts/{host_id}": {
    path: {
      host_id: string;
    };
    query: {};
    body: undefined;
    answer: void;
  };
  "GET /v1/power/hosts/{host_id}": {
    path: {
      host_id: string;
    };
    query: {};
    body: undefined;
    answer: OneMachine;
  };
  "PUT /v1/power/hosts/{host_id}": {
    path: {
      host_id: string;
    };
    query: {};
    body: MachineDescription;
    answer: OneMachine;
  };
  "POST /v1/power/hosts/{host_id}/wake": {
    path: {
      host_id: string;
    };
    query: {};
    body: undefined;
    answer: OneMachine;
  };
  "GET /v1/power/margins": {
    path: {};
    query: {};
    body: undefined;
    answer: MarginList;
  };
  "GET /v1/power/report": {
    path: {};
    query: {
      from?: string;
      to?: string;
    };
    body: undefined;
    answer: PowerReport;
  };
  "GET /v1/prices": {
    path: {};
    query: {};
    body: undefined;
    answer: PriceLists;
  };
  "GET /v1/published-offers": {
    path: {};
    query: {
      all_projects?: boolean;
      limit?: number;
      marker?: string;
      sort?: string;
      name?: string;
      status?: string;
    };
    body: undefined;
    answer: PublishedOfferList;
  };
  "POST /v1/published-offers": {
    path: {};
    query: {};
    body: PublishedOfferCreation;
    answer: OnePublishedOffer;
  };
  "DELETE /v1/published-offers/{published_id}": {
    path: {
      published_id: string;
    };
    query: {};
    body: undefined;
    answer: void;
  };
  "GET /v1/published-offers/{published_id}": {
    path: {
      published_id: string;
    };
    query: {};
    body: undefined;
    answer: OnePublishedOffer;
  };
  "POST /v1/published-offers/{published_id}/claims": {
    path: {
      published_id: string;
    };
    query: {};
    body: ClaimCreation;
    answer: OneLease;
  };
  "GET /v1/refusals": {
    path: {};
    query: {
      from?: string;
      to?: string;
    };
    body: undefined;
    answer: RefusalList;
  };
  "GET /v1/regions": {
    path: {};
    query: {};
    body: undefined;
    answer: RegionList;
  };
  "GET /v1/regions/availability": {
    path: {};
    query: {
      region?: string;
      resource_type?: string;
      from?: string;
      to?: string;
      resource_id?: string;
    } & Record<string, any>;
    body: undefined;
    answer: RegionAvailabilityList;
  };
  "POST /v1/regions/availability/search": {
    path: {};
    query: {};
    body: RegionSearch;
    answer: RegionWindowsList;
  };
  "GET /v1/resources": {
    path: {};
    query: {};
    body: undefined;
    answer: ResourceTypeList;
  };
  "GET /v1/resources/{resource_type}": {
    path: {
      resource_type: string;
    };
    query: {
      limit?: number;
      marker?: string;
      sort?: string;
      name?: string;
      health?: string;
      pool?: string;
      reservable?: boolean;
      disabled?: boolean;
    };
    body: undefined;
    answer: ResourceList;
  };
  "POST /v1/resources/{resource_type}": {
    path: {
      resource_type: string;
    };
    query: {};
    body: ResourceCreation;
    answer: OneResource;
  };
  "GET /v1/resources/{resource_type}/allocations": {
    path: {
      resource_type: string;
    };
    query: {
      lease_id?: string;
      reservation_id?: string;
      limit?: number;
      marker?: string;
    };
    body: undefined;
    answer: AllocationList;
  };
  "GET /v1/resources/{resource_type}/candidates": {
    path: {
      resource_type: string;
    };
    query: {};
    body: undefined;
    answer: CandidateList;
  };
  "GET /v1/resources/{resource_type}/properties": {
    path: {
      resource_type: string;
    };
    query: {
      detail?: string;
      all?: string;
    };
    body: undefined;
    answer: PropertyList;
  };
  "PATCH /v1/resources/{resource_type}/properties/{name}": {
    path: {
      resource_type: string;
      name: string;
    };
    query: {};
    body: PrivacyChange;
    answer: OneDefinition;
  };
  "DELETE /v1/resources/{resource_type}/{resource_id}": {
    path: {
      resource_type: string;
      resource_id: string;
    };
    query: {};
    body: undefined;
    answer: void;
  };
  "GET /v1/resources/{resource_type}/{resource_id}": {
    path: {
      resource_type: string;
      resource_id: string;
    };
    query: {};
    body: undefined;
    answer: OneResource;
  };
  "PUT /v1/resources/{resource_type}/{resource_id}": {
    path: {
      resource_type: string;
      resource_id: string;
    };
    query: {};
    body: ResourceChange;
    answer: OneResource;
  };
  "GET /v1/resources/{resource_type}/{resource_id}/allocation": {
    path: {
      resource_type: string;
      resource_id: string;
    };
    query: {
      lease_id?: string;
      reservation_id?: string;
    };
    body: undefined;
    answer: OneAllocation;
  };
  "GET /v1/series": {
    path: {};
    query: {
      all_projects?: boolean;
      limit?: number;
      marker?: string;
      sort?: string;
      name?: string;
    };
    body: undefined;
    answer: SeriesList;
  };
  "POST /v1/series": {
    path: {};
    query: {};
    body: SeriesCreation;
    answer: OneSeries;
  };
  "DELETE /v1/series/{series_id}": {
    path: {
      series_id: string;
    };
    query: {};
    body: undefined;
    answer: void;
  };
  "GET /v1/series/{series_id}": {
    path: {
      series_id: string;
    };
    query: {};
    body: undefined;
    answer: OneSeries;
  };
  "PUT /v1/series/{series_id}": {
    path: {
      series_id: string;
    };
    query: {};
    body: SeriesAmendment;
    answer: OneSeries;
  };
  "GET /v1/subscriptions": {
    path: {};
    query: {
      all_projects?: boolean;
      limit?: number;
      marker?: string;
      sort?: string;
      channel?: string;
      target?: string;
      status?: string;
      lease_id?: string;
      own?: boolean;
    };
    body: undefined;
    answer: SubscriptionList;
  };
  "POST /v1/subscriptions": {
    path: {};
    query: {};
    body: SubscriptionCreation;
    answer: OneSubscription;
  };
  "DELETE /v1/subscriptions/{subscription_id}": {
    path: {
      subscription_id: string;
    };
    query: {};
    body: undefined;
    answer: void;
  };
  "GET /v1/subscriptions/{subscription_id}": {
    path: {
      subscription_id: string;
    };
    query: {};
    body: undefined;
    answer: OneSubscription;
  };
  "GET /v1/subscriptions/{subscription_id}/dead-letters": {
    path: {
      subscription_id: string;
    };
    query: {
      after?: string;
      limit?: number;
    };
    body: undefined;
    answer: DeadLetterList;
  };
  "POST /v1/subscriptions/{subscription_id}/replay": {
    path: {
      subscription_id: string;
    };
    query: {};
    body: Replay;
    answer: OneSubscription;
  };
  "GET /v1/timeline": {
    path: {};
    query: {
      from?: string;
      to?: string;
      resource_type?: string;
      resource_properties?: string;
      as_of?: string;
      limit?: number;
      marker?: string;
    };
    body: undefined;
    answer: OneTimeline;
  };
  "GET /v1/usage": {
    path: {};
    query: {
      from?: string;
      to?: string;
      group_by?: "project" | "user" | "resource" | "kind" | "lease" | "day";
      format?: "json" | "csv";
      project_id?: string;
      all_projects?: boolean;
    };
    body: undefined;
    answer: OneUsage;
  };
  "GET /versions": {
    path: {};
    query: {};
    body: undefined;
    answer: VersionList;
  };
}
