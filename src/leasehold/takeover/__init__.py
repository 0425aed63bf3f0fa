"""Import of Blazar's database into ours, row by row; a finding names each row that is not imported as it is."""
