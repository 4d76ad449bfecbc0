-- A rule of interventions: the handling of a run fails again and again, and the run rests.
insert into intervention_rule (rule, name) values (20, 'failing');
